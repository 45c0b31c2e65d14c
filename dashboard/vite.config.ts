import { defineConfig } from "vite";

// Fixed names: the server has each of these files built in.
export default defineConfig({
  // Addresses are relative: a proxy may serve the page below a path of its own.
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "built",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: { entryFileNames: "page.js", assetFileNames: "page[extname]", inlineDynamicImports: true },
    },
  },
});
