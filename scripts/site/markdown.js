import { isAbsolute, relative } from 'node:path'
import { ROOT } from './groups.js'
import { addressOf, targetOf } from './links.js'

/**
 * Leads the links of a page to pages of the site; fails the build for a dead one.
 * @param {import('vitepress').MarkdownRenderer} md
 */
export function followLinks (md) {
  md.core.ruler.push('links-of-the-project', ({ tokens, env }) => {
    const file = env.realPath ?? env.path
    const from = isAbsolute(file) ? relative(ROOT, file) : file
    for (const { children } of tokens) {
      let asText = false
      for (const token of children ?? []) {
        if (token.type === 'link_close' && asText) {
          token.tag = 'span'
          asText = false
        }
        if (token.type !== 'link_open') continue
        const href = String(token.attrGet('href'))
        const target = targetOf(from, href)
        if (target.kind === 'dead') throw new Error(`${from}: dead link ${href}: ${target.reason}`)
        // also the permalinks of headings
        if (href.startsWith('#')) continue
        if (target.kind === 'page') token.attrSet('href', addressOf(target.path, target.anchor))
        if (target.kind === 'file') {
          asText = true
          token.type = 'project_file'
          token.tag = 'span'
          token.attrs = [['class', 'project-file'], ['title', `File of the project: ${target.path}`]]
        }
      }
    }
  })
}

/**
 * Tables that are wider than the page scroll, also by keyboard. The alignment of a cell is a class, because the content
 * security policy refuses `style` attributes.
 * @param {import('vitepress').MarkdownRenderer} md
 */
export function styleTables (md) {
  const { rules } = md.renderer
  rules.table_open = () => '<div class="table" tabindex="0"><table>\n'
  rules.table_close = () => '</table></div>\n'
  rules.th_open = rules.td_open = (tokens, at, options, _env, self) => {
    const token = tokens[at]
    // a heading without text is none
    if (token.tag === 'th' && tokens[at + 1]?.content === '') token.tag = tokens[at + 2].tag = 'td'
    const align = /^text-align:(\w+)/.exec(token.attrGet('style') ?? '')?.[1]
    if (align !== undefined) token.attrs = [['class', `align-${align}`]]
    return self.renderToken(tokens, at, options)
  }
}
