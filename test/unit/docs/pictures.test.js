import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT } from '../../../scripts/site/groups.js'
import { linksOf, userPages } from '../../../scripts/site/links.js'
import { FILE, queuePicture } from '../../../scripts/queue-picture.js'

test('the picture of a slow connection\'s queue has the defaults of the settings (node scripts/queue-picture.js)', () => {
  assert.equal(readFileSync(FILE, 'utf8'), queuePicture())
})

test('each picture of docs/images is on a page, and together they are small: they are in the npm package', () => {
  const shown = new Set([...userPages(), 'README.md'].flatMap(linksOf).map((href) => href.split('/').at(-1)))
  const pictures = readdirSync(`${ROOT}docs/images`)
  assert.deepEqual(pictures.filter((name) => !shown.has(name)), [])
  const bytes = pictures.reduce((sum, name) => sum + readFileSync(`${ROOT}docs/images/${name}`).length, 0)
  assert.ok(bytes <= 600_000, `${bytes} bytes; cwebp -near_lossless 0 -q 100 -m 6 makes a screenshot small`)
})
