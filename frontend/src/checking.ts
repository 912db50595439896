interface Swap {
  target: Element;
  fragment: Element | DocumentFragment;
}

/** Messages that the server sends beside the fields of a form while one types. */
export function checkAsOneTypes(): void {
  document.body.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = (event as CustomEvent<Swap>).detail;
    // The same message again would be read out again.
    if (target.textContent?.trim() === fragment.textContent?.trim()) event.preventDefault();
    // When it is in its place: htmx says nothing of messages that were only taken away.
    else if (target.id.endsWith("_status")) queueMicrotask(() => mark(target));
  });
}

/** Tell assistive technology, and the style sheet, whether the fields that a message is about are wrong. */
function mark(message: Element): void {
  const wrong = message.querySelector(".error") !== null;
  if (wrong) message.closest("details")?.setAttribute("open", "");
  for (const field of document.querySelectorAll(`[aria-describedby~="${CSS.escape(message.id)}"]`)) {
    const group = field.matches("[type=radio], [type=checkbox]") ? field.closest("fieldset[id]") : null;
    const marked = group ?? field;
    if (wrong) marked.setAttribute("aria-invalid", "true");
    else marked.removeAttribute("aria-invalid");
  }
}
