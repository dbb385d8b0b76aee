import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Results of runs, and files that a program writes. */
const WRITTEN = /^(?:bench\/results\/|docs\/images\/)|package-lock\.json$|\/dashboards\/inkcast-[a-z]+\.json$/
/** A string of JSON, a template whose spaces reach the output, a data: URL. */
const UNBREAKABLE = /^\s*"[^"]+": ".*",?$|^\{\{-? if .*\}\}$|data:image|https?:\S{60,}/

test('no line of a file that people write is above 140 columns; the linter checks JavaScript', () => {
  const kinds = ['css', 'html', 'json', 'lua', 'yml', 'yaml', 'tpl', 'sh', 'proto', 'c'].map((ending) => `*.${ending}`)
  const files = execFileSync('git', ['ls-files', ...kinds], { cwd: ROOT }).toString().split('\n')
    .filter((file) => file !== '' && !WRITTEN.test(file))
  assert.ok(files.length > 80, `${files.length} files`)
  const long = files.flatMap((file) => readFileSync(path.join(ROOT, file), 'utf8').split('\n')
    .flatMap((line, i) => line.length > 140 && !UNBREAKABLE.test(line) ? [`${file}:${i + 1}`] : []))
  assert.deepEqual(long, [])
})
