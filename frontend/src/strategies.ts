/** Show the options and roles of the chosen strategy, and the fields of the chosen kind of a role's model. */
export function showChosenStrategy(): void {
  const form = document.querySelector<HTMLFormElement>(".submit-form");
  const strategy = form?.querySelector<HTMLSelectElement>("select[name=strategy]");
  if (!form || !strategy) return;
  const update = (): void => {
    showWith(form, "strategies", strategy.value);
    for (const kind of form.querySelectorAll<HTMLSelectElement>("select[name$=__kind]")) {
      const role = kind.closest("fieldset");
      if (role) showWith(role, "kinds", kind.value);
    }
    const options = form.querySelector<HTMLElement>("#strategy-options");
    if (options) options.hidden = options.querySelector("[data-strategies]:not([hidden])") === null;
  };
  form.addEventListener("change", update);
  update();
}

/** Show the elements whose `data-NAME`, words separated by blanks, has a word. */
function showWith(within: Element, name: "strategies" | "kinds", word: string): void {
  for (const element of within.querySelectorAll<HTMLElement>(`[data-${name}]`)) {
    element.hidden = !(element.dataset[name] ?? "").split(" ").includes(word);
  }
}
