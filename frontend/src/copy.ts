/** Add a copy button to blocks of code in prose. */
export function addCopyButtons(): void {
  document.querySelectorAll<HTMLPreElement>(".prose pre").forEach((block, index) => {
    if (block.id === "") block.id = `code-${index + 1}`;
    const frame = document.createElement("div");
    frame.className = "code-block";
    block.replaceWith(frame);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button small copy-code";
    button.dataset["copy"] = block.id;
    button.textContent = "Copy";
    frame.append(block, button);
  });
}

/** Buttons with `data-copy="element id"` copy that element's text, or select it if copying is not permitted. */
export function enableCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => void copyFrom(button));
  }
}

async function copyFrom(button: HTMLButtonElement): Promise<void> {
  const source = document.getElementById(button.dataset["copy"] ?? "");
  if (source === null) return;
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    announce(button, "Copied");
  } catch {
    getSelection()?.selectAllChildren(source);
    announce(button, "Press Ctrl+C");
  }
}

function announce(button: HTMLButtonElement, text: string): void {
  const before = button.textContent;
  button.textContent = text;
  setTimeout(() => {
    button.textContent = before;
  }, 2000);
}
