import { build } from 'esbuild'
import { compile } from 'svelte/compiler'
import { compileScript, parse } from 'vue/compiler-sfc'

/**
 * Compiles single-file components of Vue and Svelte, with the compilers that their packages have.
 *
 * @type {Record<'vue' | 'svelte', (source: string, filename: string, server: boolean) => string>}
 */
const COMPILERS = {
  vue (source, filename, server) {
    const { descriptor, errors } = parse(source, { filename })
    if (errors.length > 0) throw errors[0]
    return compileScript(descriptor, {
      id: filename, inlineTemplate: true, templateOptions: { ssr: server, ssrCssVars: [] }
    }).content
  },
  svelte: (source, filename, server) =>
    compile(source, { filename, dev: !server, generate: server ? 'server' : 'client' }).js.code
}

/**
 * Bundles a page of Vue or Svelte.
 *
 * @param {'vue' | 'svelte'} framework
 * @param {string} entry JavaScript
 * @param {Record<string, string>} components source by path, as the entry and the components import them
 * @param {{ server?: boolean }} [options] server: a module for Node that renders to strings
 * @returns {Promise<string>}
 */
export async function bundlePage (framework, entry, components, { server = false } = {}) {
  const { outputFiles: [file] } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    logLevel: 'silent',
    ...(server ? { platform: 'node', packages: 'external' } : { conditions: ['browser'] }),
    define: { __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false', __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'true' },
    plugins: [{
      name: 'components',
      setup ({ onResolve, onLoad }) {
        onResolve({ filter: /\.(vue|svelte)$/ }, ({ path }) => ({ path, namespace: 'components' }))
        onLoad({ filter: /^/, namespace: 'components' }, ({ path }) => ({
          contents: COMPILERS[framework](components[path], path.replace('./', ''), server),
          resolveDir: import.meta.dirname
        }))
      }
    }]
  })
  return file.text
}
