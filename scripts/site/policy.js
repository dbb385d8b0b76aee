import { writeFile } from 'node:fs/promises'

/**
 * Changes of the built pages that screen readers and a strict content security policy (`default-src 'self'`) need:
 * VitePress puts two small scripts and some `style` attributes into each page. The scripts become a file; the theme's
 * style.css has the rules of the attributes.
 *
 * @param {string} output folder of the built site
 * @returns {Pick<import('vitepress').UserConfig, 'transformHtml' | 'buildEnd'>}
 */
export function createPolicyFixes (output) {
  /** The same on each page. */
  let early = ''
  return {
    transformHtml (html, file) {
      // the home page has no main landmark of its own (docs/.vitepress/theme/index.js)
      /** @type {string[]} */
      const scripts = []
      const changed = html
        .replace('<div class="VPHome"', '<div role="main" class="VPHome"')
        .replaceAll(/<script id="[^"]+">([\s\S]*?)<\/script>\s*/g, (_, code) => {
          scripts.push(code)
          return scripts.length === 1 ? '<script src="/docs/early.js"></script>' : ''
        })
        .replaceAll(/(<[a-z][^<>]*?) style="(?:position:relative;|--vp-vh:0px;|)"/g, '$1')
      early = scripts.join('\n')
      const rest = /<script(?![^>]* src=)[^>]*>|<[a-z][^<>]*? (?:style|on[a-z]+)="[^"]*"/.exec(changed)?.[0]
      if (rest !== undefined) throw new Error(`${file}: ${rest} is refused by the content security policy`)
      return changed
    },
    buildEnd: () => writeFile(`${output}/early.js`, early)
  }
}
