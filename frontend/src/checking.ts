interface Swap {
  target: Element;
  fragment: Element | DocumentFragment;
}

/** Validation messages that the server sends while a form is being filled in. */
export function checkAsOneTypes(): void {
  document.body.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = (event as CustomEvent<Swap>).detail;
    // Screen readers would announce an unchanged message again.
    if (target.textContent?.trim() === fragment.textContent?.trim()) event.preventDefault();
    // After the swap: htmx sends no event for messages that are only removed.
    else if (target.id.endsWith("_status")) queueMicrotask(() => mark(target));
  });
}

/** Mark the fields of a message as valid or invalid, for assistive technology and the style sheet. */
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
