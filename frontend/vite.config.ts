import { defineConfig, loadEnv } from "vite";

// Names are fixed here: Django's manifest storage hashes them when static files are collected.
// Fonts stay files (no data: URLs), because the Content-Security-Policy allows fonts from this origin only.
export default defineConfig(({ mode }) => ({
  base: "./",
  // `./planarena dev` starts the development server beside the site: addresses in CSS must name it.
  server: { host: "127.0.0.1", strictPort: true, ...development(mode) },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // the first with light-dark()
    rollupOptions: {
      checks: { eval: false }, // htmx holds an eval() that `allowEval = false` keeps from ever running
      input: { app: "src/app.ts", theme: "src/theme.ts" },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "chunks/[name].js",
        assetFileNames: (asset) => (asset.names[0]?.endsWith(".css") ? "app.css" : "fonts/[name][extname]"),
      },
    },
  },
}));

function development(mode: string): { origin?: string } {
  const origin = loadEnv(mode, "/nonexistent", "PLANARENA_")["PLANARENA_VITE"];
  return origin ? { origin } : {};
}
