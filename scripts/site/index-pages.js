/** Writes docs/README.md, as the sidebar of the site, and the READMEs of docs/internals, from groups.js. */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { readDecisions, readGroups, readInternals } from './groups.js'
import { markdownTable } from '../markdown-table.js'

const MARK = '<!-- Generated from scripts/site/groups.js by "npm run docs": do not edit. -->'

/** @param {import('./groups.js').Page} page */
const row = ({ path, title, about }) => [`[${title}](${posix.relative('docs', path)})`, about]

/** @returns {string} docs/README.md */
export const docsIndex = () => [
  '# Documentation',
  MARK,
  'Every page, by what you want to do. `npm run docs:site` builds the same pages as a site with search, which `npm start` then serves ' +
  'at `http://localhost:3000/docs/`.',
  ...readGroups().flatMap(({ title, purpose, sections }) => [
    `## ${title}`,
    purpose,
    ...sections.flatMap((section) => [
      ...section.title === '' ? [] : [`### ${section.title}`],
      markdownTable(['page', 'content'], section.pages.map(row))
    ])
  ])
].join('\n\n') + '\n'

/** @returns {string} docs/internals/README.md */
export const internalsIndex = () => [
  '# Internals',
  MARK,
  'Pages for contributors. [CONTRIBUTING.md](../../CONTRIBUTING.md) is the first one to read. These pages are in neither ' +
  'the packages, the image nor the site.',
  markdownTable(['page', 'content'], readInternals().map(({ path, title, about }) =>
    [`[${title}](${posix.relative('docs/internals', path)})`, about]))
].join('\n\n') + '\n'

/** The numbers of decisions that were merged into this one; commits and changelogs have them. @param {string} path */
const formerNumbers = (path) =>
  /^Former numbers: (.+)\.$/m.exec(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))?.[1] ?? ''

/** @returns {string} docs/internals/decisions/README.md */
export const decisionsIndex = () => [
  '# Decisions',
  MARK,
  'Each page begins with its outcome. The reasons follow, with their figures, and then the rejected alternatives. A former number is ' +
  'that of a page which is a part of the decision today.',
  markdownTable(['decision', 'former numbers'], readDecisions()
    .map(({ path, title }) => [`[${title}](${posix.basename(path)})`, formerNumbers(path)]))
].join('\n\n') + '\n'
