import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { ROOT, readDecisions, readGroups, readInternals } from '../../../scripts/site/groups.js'
import { addressOf, linksOf, markdownFiles, sitePages, siteFileOf, targetOf, userPages } from '../../../scripts/site/links.js'
import { PAGES } from '../../../scripts/docs.js'

/** The sources of the docs site. test/nightly/docs-site.test.js builds it. */

const grouped = () => readGroups().flatMap(({ sections }) => sections.flatMap(({ pages }) => pages))

describe('the groups of the docs', () => {
  test('have every page once', () => {
    const paths = [...grouped(), ...readInternals(), ...readDecisions()].map(({ path }) => path)
    assert.deepEqual(paths.filter((path, i) => paths.indexOf(path) !== i), [])
    const indexes = ['docs/README.md', 'docs/internals/README.md']
    const own = markdownFiles('docs').filter((path) => !indexes.includes(path))
    assert.deepEqual(own.filter((path) => !paths.includes(path)), [])
    assert.deepEqual(paths.filter((path) => !existsSync(ROOT + path)), [])
  })

  test('are the ones of docs/README.md, with each page and what it is about', () => {
    const readme = PAGES['docs/README.md']()
    const rows = readme.split('\n').filter((line) => line.startsWith('| ['))
    assert.equal(rows.length, grouped().length)
    for (const { title } of readGroups()) assert.ok(readme.includes(`\n## ${title}\n`), title)
    for (const row of rows) assert.match(row, /^\| \[[^\]]+\]\([^)]+\.md\) \| \S.* \|$/)
  })

  test('pick up a new page of a folder, with its first heading and its first sentence', (t) => {
    const root = `${mkdtempSync(join(tmpdir(), 'inkcast-docs-'))}/`
    t.after(() => rmSync(root, { recursive: true }))
    for (const path of [...grouped().map((page) => page.path), 'docs/tutorials/new.md']) {
      mkdirSync(dirname(root + path), { recursive: true })
      writeFileSync(root + path, '# A `new` page\n\n![picture](x.png)\n\nShow [links](y.md) as text. More.\n')
    }
    const group = readGroups(root).find(({ title }) => title === 'Tutorials')
    assert.deepEqual(
      group?.sections[0].pages.find(({ path }) => path === 'docs/tutorials/new.md'),
      { path: 'docs/tutorials/new.md', title: 'A new page', about: 'Show links as text' }
    )
  })
})

test('each column of a table has a heading: an empty one says nothing to a screen reader', () => {
  const bare = grouped().flatMap(({ path }) => {
    const lines = readFileSync(ROOT + path, 'utf8').split('\n')
    return lines.flatMap((line, i) =>
      /^\|[-:| ]+\|$/.test(line) && /\|\s*\|/.test(lines[i - 1]) ? [`${path}:${i}: ${lines[i - 1]}`] : [])
  })
  assert.deepEqual(bare, [])
})

describe('links of the pages', () => {
  test('lead to existing files and headings', () => {
    const dead = [...sitePages(), ...markdownFiles('docs/internals'), 'CONTRIBUTING.md'].flatMap((page) => linksOf(page).flatMap((href) => {
      const target = targetOf(page, href)
      return target.kind === 'dead' ? [`${page}: ${href}: ${target.reason}`] : []
    }))
    assert.deepEqual(dead, [])
  })

  test('of users lead to no page for contributors: neither the packages nor the site have them', () => {
    const inside = sitePages().flatMap((page) => linksOf(page).flatMap((href) => {
      const target = targetOf(page, href)
      return 'path' in target && target.path.startsWith('docs/internals') ? [`${page}: ${href}`] : []
    }))
    assert.deepEqual(inside, [])
    assert.ok(linksOf('CONTRIBUTING.md').includes('docs/internals/README.md'))
    assert.ok(userPages().length < markdownFiles('docs').length)
  })

  test('lead to pages of the site, to files of the project, to other hosts, or are dead', () => {
    const from = 'docs/how-to/avatars.md'
    assert.deepEqual(targetOf(from, '../kafka.md#dead-letters'), { kind: 'page', path: 'docs/kafka.md', anchor: 'dead-letters' })
    assert.deepEqual(targetOf(from, '../../bench/'), { kind: 'page', path: 'bench/README.md', anchor: '' })
    assert.deepEqual(targetOf(from, '../../src/api.js'), { kind: 'file', path: 'src/api.js' })
    assert.deepEqual(targetOf(from, 'https://example.com/x.md'), { kind: 'other' })
    for (const href of ['nothing.md', '../kafka.md#nothing', '../../../outside.md', '#nothing'])
      assert.equal(targetOf(from, href).kind, 'dead', href)
  })

  test('have an address of their own for each page', () => {
    const addresses = sitePages().map((page) => addressOf(page))
    assert.deepEqual(addresses.filter((address, i) => addresses.indexOf(address) !== i), [])
    assert.deepEqual(
      ['docs/README.md', 'docs/client.md', 'README.md', 'bench/README.md', 'docs/how-to/a.md'].map((path) => addressOf(path)),
      ['/', '/client.html', '/project.html', '/bench/', '/how-to/a.html']
    )
    assert.equal(siteFileOf('docs/README.md'), 'index.md')
  })
})

test('generated reference pages have every operation of the api, and every export of the client', () => {
  const api = readFileSync(`${ROOT}docs/http-api.md`, 'utf8')
  const client = readFileSync(`${ROOT}docs/client-api.md`, 'utf8')
  const table = readFileSync(`${ROOT}docs/api.md`, 'utf8')
  const operations = [...table.matchAll(/^\| `((?:GET|POST|DELETE|PUT) [^`]+)`/gm)].map(([, one]) => one.replaceAll(/:(\w+)/g, '{$1}'))
  assert.ok(operations.length > 15)
  assert.deepEqual(operations.filter((one) => !api.includes(`\n\`${one}\`\n`)), [])
  for (const name of ['connect', 'Client', 'Document', 'ClientOptions', 'OpenOptions', 'ClientError', 'Meta', 'UserLog'])
    assert.ok(client.includes(`\n### ${name}\n`), name)
  assert.doesNotMatch(client, /import\(|`any`.*connectionId|undefined`\)|`\{\}`/)
  const rows = client.split('\n').filter((line) => line.startsWith('| `'))
  assert.deepEqual(rows.filter((row) => row.endsWith('|  |')), [], 'without a meaning')
})
