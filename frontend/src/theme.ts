// Loaded in <head> before the first paint, so that a stored colour scheme applies without a flash.
// Kept free of imports and exports: it runs as a classic script.
(() => {
  try {
    const stored = localStorage.getItem("planarena-theme");
    if (stored === "light" || stored === "dark") document.documentElement.dataset["theme"] = stored;
  } catch {
    // Storage may be blocked; the system's scheme applies then.
  }
  document.documentElement.classList.add("js");
})();
