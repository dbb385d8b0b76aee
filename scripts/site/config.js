import { createCssVariablesTheme } from 'shiki'
import { anchorOf } from '../../src/operate/admin/doc-page.js'
import { ROOT, readGroups } from './groups.js'
import { addressOf, markdownFiles, sitePages, siteFileOf } from './links.js'
import { codeClasses } from './code-classes.js'
import { homePage } from './home.js'
import { createPolicyFixes } from './policy.js'
import { followLinks, styleTables } from './markdown.js'

/** Where the site is built to, and where the gateway serves it from (packages/demo/docs-site.js). */
export const OUTPUT = `${ROOT}docs/.vitepress/dist`

/** @typedef {import('vitepress').UserConfig<import('vitepress').DefaultTheme.Config>} SiteConfig */

/** @returns {SiteConfig} */
export function siteConfig () {
  const pages = new Set(sitePages())
  const groups = readGroups()
  return {
    title: 'inkcast',
    description: 'Real-time document gateway: documentation',
    lang: 'en-US',
    base: '/docs/',
    srcDir: ROOT,
    srcExclude: markdownFiles('').filter((path) => !pages.has(path)),
    rewrites: siteFileOf,
    ignoreDeadLinks: 'localhostLinks',
    metaChunk: true,
    markdown: {
      theme: createCssVariablesTheme({ name: 'css-variables', variablePrefix: '--code-' }),
      codeTransformers: [codeClasses],
      languageAlias: { env: 'dotenv' },
      anchor: { slugify: anchorOf },
      config (md) {
        followLinks(md)
        styleTables(md)
      }
    },
    // the only request for something outside of assets/
    head: [['link', { rel: 'icon', href: '/docs/icon.svg', type: 'image/svg+xml' }]],
    ...createPolicyFixes(OUTPUT),
    transformPageData: (page) => page.relativePath === 'index.md' ? homePage(groups) : undefined,
    themeConfig: {
      logo: { src: '/icon.svg', alt: '' },
      nav: groups.map(({ title, sections }) => ({ text: title, link: addressOf(sections[0].pages[0].path) })),
      sidebar: sidebar(groups),
      outline: [2, 3],
      search: {
        provider: 'local',
        options: {
          // figures of past runs would be found before the pages
          _render: (text, env, md) => env.relativePath.startsWith('bench/results/') ? '' : md.render(text, env)
        }
      },
      docFooter: { prev: false, next: false },
      externalLinkIcon: true
    },
    // the search index is one chunk, which is loaded when somebody searches
    vite: { build: { chunkSizeWarningLimit: 2000 }, publicDir: `${ROOT}docs/.vitepress/public` }
  }
}

/** @typedef {import('vitepress').DefaultTheme.SidebarItem} SidebarItem */

/** @param {import('./groups.js').Page} page @returns {SidebarItem} */
const itemOf = ({ path, title }) => ({ text: title, link: addressOf(path) })

/** @param {import('./groups.js').Group[]} groups @returns {SidebarItem[]} */
const sidebar = (groups) => groups.map(({ title, sections }) => ({
  text: title,
  items: sections.flatMap((section) => section.title === ''
    ? section.pages.map(itemOf)
    : [/** @type {SidebarItem} */ ({ text: section.title, items: section.pages.map(itemOf) })])
}))
