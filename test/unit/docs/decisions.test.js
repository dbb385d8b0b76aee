import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const FOLDER = path.join(ROOT, 'docs/internals/decisions')
const PAGES = readdirSync(FOLDER).filter((name) => name !== 'README.md')

test('there are at most 40 decisions, each with a number of its own', () => {
  assert.ok(PAGES.length <= 40, `${PAGES.length} pages: merge two of one subject`)
  for (const name of PAGES) assert.match(name, /^\d{4}-[a-z-]+\.md$/)
  assert.equal(new Set(PAGES.map((name) => name.slice(0, 4))).size, PAGES.length)
})

for (const name of PAGES) {
  test(`${name} begins with its outcome, and has what was rejected`, () => {
    const text = readFileSync(path.join(FOLDER, name), 'utf8')
    const [heading, outcome] = text.split('\n\n')
    assert.match(heading, new RegExp(`^# ${name.slice(0, 4)}: .+$`))
    assert.match(outcome, /^Decided: /)
    const sentences = outcome.replaceAll('\n', ' ').split(/(?<=[.?]) (?=[A-Z])/)
    assert.ok(sentences.length <= 3, `${sentences.length} sentences`)
    assert.match(text, /^## Rejected$/m)
    let code = false
    for (const line of text.split('\n')) {
      if (line.startsWith('```')) code = !code
      if (!code && !line.startsWith('|')) assert.ok(line.length <= 160, line)
    }
  })
}

test('every decision that code or a page names is there', () => {
  const numbers = new Set(PAGES.map((name) => name.slice(0, 4)))
  const files = execFileSync('git', ['ls-files', '*.md', '*.js', '*.lua', '*.yml', '*.yaml', '*.sh'], { cwd: ROOT, maxBuffer: 2 ** 24 })
    .toString().split('\n').filter((file) => file !== '' && file !== 'CHANGELOG.md' && !file.startsWith('docs/internals/decisions/README'))
  const missing = files.flatMap((file) => {
    const full = path.join(ROOT, file)
    if (lstatSync(full, { throwIfNoEntry: false })?.isFile() !== true) return []
    const text = readFileSync(full, 'utf8')
    return [
      ...[...text.matchAll(/\bdecisions\/(\d{4}-[\w-]+\.md)/g)].filter(([, page]) => !PAGES.includes(page)),
      ...[...text.matchAll(/\b[Dd]ecisions? (0\d{3})\b/g)].filter(([, number]) => !numbers.has(number))
    ].map(([found]) => `${file}: ${found}`)
  })
  assert.deepEqual(missing, [])
})
