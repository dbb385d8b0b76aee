import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { createReloadedFiles } from '../../../src/config/reloaded-files.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

/** @param {import('node:test').TestContext} t */
function setUp (t) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'settings.json')
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  /** @type {string[]} */
  const applied = []
  const files = createReloadedFiles({
    setting: 'SOME_FILE',
    path,
    async load (readText) {
      const { words, file } = JSON.parse(await readText(path))
      if (words === undefined) throw new Error('words is missing')
      return file === undefined ? words : words + await readText(join(dirname(path), file))
    },
    apply: (words) => applied.push(words),
    log, metrics, every: 20, clock: systemClock
  })
  t.after(() => files.stop())
  return {
    folder, path, files, applied,
    // as a whole: a file that is half written would be a wrong one for a moment
    write (/** @type {object | string} */ content) {
      writeFileSync(`${path}.new`, typeof content === 'string' ? content : JSON.stringify(content))
      renameSync(`${path}.new`, path)
    },
    problems: () => lines.filter(({ level }) => level === 'error').map(({ text }) => text),
    async wrong () { return (await metrics.settings_file_wrong.get()).values.at(-1) }
  }
}

test('a changed file is in force within moments, and one that stays the same is loaded once', async (t) => {
  const { files, applied, write } = setUp(t)
  write({ words: 'a' })
  await files.start()
  assert.deepEqual(applied, ['a'])
  write({ words: 'b' })
  await waitFor(() => applied.length === 2)
  write({ words: 'b' })
  write({ words: 'c' })
  await waitFor(() => applied.at(-1) === 'c')
  assert.deepEqual(applied, ['a', 'b', 'c'])
})

test('a file that it names is watched too, also when it is replaced as a symbolic link', async (t) => {
  const { folder, files, applied, write } = setUp(t)
  for (const name of ['one', 'two']) writeFileSync(join(folder, name), name)
  symlinkSync(join(folder, 'one'), join(folder, 'link'))
  write({ words: 'a ', file: 'link' })
  await files.start()
  assert.deepEqual(applied, ['a one'])
  symlinkSync(join(folder, 'two'), join(folder, 'next'))
  renameSync(join(folder, 'next'), join(folder, 'link'))
  await waitFor(() => applied.at(-1) === 'a two')
})

test('a wrong file changes nothing, the reason is logged once and counted, and a correct one ends that', async (t) => {
  const { folder, files, applied, write, problems, wrong } = setUp(t)
  write({ words: 'a' })
  await files.start()
  assert.deepEqual(await wrong(), { labels: { setting: 'SOME_FILE' }, value: 0 })
  for (const [content, reason] of /** @type {[object | string, RegExp][]} */ ([
    ['{"words":', /JSON/],
    [{}, /words is missing/],
    [{ words: 'b', file: 'none' }, /none: ENOENT/]
  ])) {
    const before = problems().length
    write(content)
    await waitFor(() => problems().length > before)
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.equal(problems().length, before + 1)
    assert.match(/** @type {string} */ (problems().at(-1)), reason)
    assert.equal((await wrong())?.value, 1)
  }
  assert.deepEqual(applied, ['a'])
  // only the file that was missing has changed
  writeFileSync(join(folder, 'none'), '!')
  await waitFor(() => applied.at(-1) === 'b!')
  assert.equal((await wrong())?.value, 0)
})

test('a deleted file is a wrong one', async (t) => {
  const { path, files, write, problems, applied } = setUp(t)
  write({ words: 'a' })
  await files.start()
  rmSync(path)
  await waitFor(() => problems().length === 1)
  assert.match(problems()[0], /ENOENT/)
  write({ words: 'b' })
  await waitFor(() => applied.at(-1) === 'b')
})

test('a wrong file fails the start, with setting, file and reason', async (t) => {
  const { files, path, write } = setUp(t)
  await assert.rejects(files.start(), (/** @type {Error} */ error) =>
    error.message.startsWith(`SOME_FILE=${path}: ${path}: ENOENT`))
  write({})
  await assert.rejects(files.start(), { message: `SOME_FILE=${path}: words is missing` })
  write(`"${'x'.repeat(2 ** 20)}"`)
  await assert.rejects(files.start(), /has more than 1048576 bytes/)
})
