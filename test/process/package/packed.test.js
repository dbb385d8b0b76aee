import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { PACKAGES } from '../../../scripts/build-packages.js'
import { linksOf, targetOf } from '../../../scripts/site/links.js'
import { PICTURE, withoutPictures } from '../../../scripts/stage-package.js'
import { npm, PACKAGE_NAMES } from '../../helpers/tarballs.js'

/** What would be packed. test/nightly/tarballs.test.js builds, packs, installs and compiles it. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const FOLDERS = ['.', ...PACKAGES, 'packages/demo', 'packages/load']

/** @param {string} folder */
const manifestOf = (folder) => JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))

/** @type {Map<string, string[]>} files by the name of their package */
const packed = new Map()
before(async () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--workspaces', '--include-workspace-root']
  for (const { name, files } of JSON.parse((await npm(ROOT, ...args)).stdout))
    packed.set(name, files.map((/** @type {{ path: string }} */ { path }) => path))
})

test('each package is built by its own scripts when it is packed or published', () => {
  assert.deepEqual([...packed.keys()].sort(), PACKAGE_NAMES)
  assert.equal(manifestOf('.').scripts.prepack, 'npm run build')
  assert.equal(manifestOf('.').scripts.build, 'node scripts/build-packages.js')
  for (const folder of PACKAGES)
    assert.equal(manifestOf(folder).scripts.prepack, `node ${folder.replace(/[^/]+/g, '..')}/scripts/build-packages.js ${folder}`)
})

test('inkcast-client needs socket.io-client and nothing else, and inkcast can do without the demo and the load tool', () => {
  const { dependencies, optionalDependencies, scripts } = manifestOf('client')
  assert.deepEqual([Object.keys(dependencies), optionalDependencies], [['socket.io-client'], undefined])
  assert.deepEqual(Object.keys(scripts).filter((script) => /^(pre|post)?install$/.test(script)), [])
  assert.deepEqual(Object.keys(manifestOf('.').dependencies).filter((name) => name.startsWith('inkcast')), [])
})

test('no link of a packed page ends outside of its package, and no package has pages for contributors', () => {
  for (const folder of FOLDERS) {
    const { name } = manifestOf(folder)
    const files = (packed.get(name) ?? []).filter((path) => !PICTURE.test(path)).map((path) => join(folder, path))
    const ends = files.filter((path) => path.endsWith('.md')).flatMap((page) => linksOf(page).flatMap((href) => {
      const target = targetOf(page, href)
      const inside = 'path' in target
        ? files.some((path) => path === target.path || path.startsWith(`${target.path}/`))
        : target.kind === 'other'
      // a picture that is left out, with its link
      const isLeftOut = !withoutPictures(readFileSync(join(ROOT, page), 'utf8')).includes(href)
      return inside || isLeftOut ? [] : [`${page}: ${href}`]
    }))
    assert.deepEqual(ends, [], name)
    assert.deepEqual(files.filter((path) => path.startsWith('docs/internals/') || /^src\/.*README/.test(path)), [])
    if (folder === '.') assert.ok(files.includes('SECURITY.md'))
  }
})
