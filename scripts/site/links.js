/**
 * Links of Markdown files, as readers of the files follow them, and where they lead to on the site. Markdown files that
 * pages of docs/ link to (READMEs, results of benchmarks) are pages of the site as well; other files of the project
 * are not, and a link to one becomes plain text.
 */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { anchorOf } from '../../src/operate/admin/doc-page.js'
import { ROOT } from './groups.js'

const LEFT_OUT = new Set(['node_modules', 'dist', 'output', 'data'])

/**
 * @typedef {{ kind: 'page', path: string, anchor: string } | { kind: 'file', path: string } | { kind: 'other' }
 *   | { kind: 'dead', reason: string }} Target path relative to the root; other: another host, or a mail address
 */

/**
 * @param {string} from path of the file that has the link, relative to the root
 * @param {string} href
 * @returns {Target}
 */
export function targetOf (from, href) {
  if (/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(href)) return { kind: 'other' }
  const [file, anchor = ''] = decodeURI(href).split('#')
  let path = file === '' ? from : relative(ROOT, join(ROOT, dirname(from), file))
  if (path.startsWith('..') || !existsSync(ROOT + path)) return { kind: 'dead', reason: `${path} does not exist` }
  if (statSync(ROOT + path).isDirectory()) {
    const page = join(path, 'README.md')
    if (!existsSync(ROOT + page)) return { kind: 'file', path }
    path = page
  }
  if (!path.endsWith('.md')) return { kind: 'file', path }
  if (anchor !== '' && !anchorsOf(path).includes(anchor)) return { kind: 'dead', reason: `${path} has no heading #${anchor}` }
  return { kind: 'page', path, anchor }
}

/** @param {string} text Markdown @returns {string} without blocks of code, which may contain anything */
const withoutCode = (text) =>
  text.replaceAll(/^( *)(`{3,}|~{3,})[\s\S]*?^\1\2/gm, '').replaceAll(/`[^`\n]*`/g, (code) => `\`${'x'.repeat(code.length - 2)}\``)

/** @param {string} path @returns {string[]} anchors of its headings */
export function anchorsOf (path) {
  /** @type {Map<string, number>} */
  const seen = new Map()
  const text = readFileSync(ROOT + path, 'utf8').replaceAll(/^( *)(`{3,}|~{3,})[\s\S]*?^\1\2/gm, '')
  return [...text.matchAll(/^#{1,6} (.+?)\s*$/gm)].map(([, heading]) => {
    const anchor = anchorOf(heading.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1'))
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

/** @param {string} path @returns {string[]} targets of its links and pictures */
export const linksOf = (path) =>
  [...withoutCode(readFileSync(ROOT + path, 'utf8')).matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)].map(([, href]) => href)

/** @returns {string[]} pages of docs/ for users; those of docs/internals are for readers of a checkout only */
export const userPages = () => markdownFiles('docs').filter((path) => !path.startsWith('docs/internals/'))

/** @returns {string[]} Markdown files of the site: pages for users, and the ones that are linked from there */
export function sitePages () {
  const pages = new Set(userPages())
  for (const page of pages) {
    for (const href of linksOf(page)) {
      const target = targetOf(page, href)
      if (target.kind === 'page') pages.add(target.path)
    }
  }
  return [...pages]
}

/** @param {string} folder relative to the root @returns {string[]} */
export function markdownFiles (folder) {
  return readdirSync(ROOT + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name.startsWith('.') || LEFT_OUT.has(entry.name) ? [] : markdownFiles(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

/** @param {string} path of a page, relative to the root @returns {string} its file on the site, ends with .md */
export function siteFileOf (path) {
  if (path === 'README.md') return 'project.md'
  return path.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md')
}

/** @param {string} path @param {string} [anchor] @returns {string} its address below the base of the site */
export const addressOf = (path, anchor = '') =>
  `/${siteFileOf(path).replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '.html')}${anchor && `#${anchor}`}`
