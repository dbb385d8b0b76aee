import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { graphOfServer } from '../../scripts/counts/count.js'
import { AREAS, arrowsOf, circlesOf, graphOf, importsByArea, upwardsOf } from '../../scripts/counts/imports.js'

/**
 * Circular imports of modules, and of types in JSDoc, which dependency-cruiser does not see: files that use each
 * other's types can only be understood together.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** @param {string} folder @returns {string[]} paths from the root */
const filesOf = (folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js') && !/^(?:demo|operate\/admin)\/page\//.test(file))
    .map((file) => path.posix.join(folder, file))

test('circular imports are found, also of types', () => {
  /** @type {Record<string, string>} */
  const files = {
    'a.js': 'import { b } from \'./b.js\'',
    'b.js': '/** @param {import(\'./x/c.js\').C} c */',
    'x/c.js': 'export { a } from \'../a.js\'',
    'd.js': 'import \'./a.js\''
  }
  assert.deepEqual(circlesOf(graphOf(Object.keys(files), (file) => files[file])), ['a.js → b.js → x/c.js → a.js'])
  assert.deepEqual(arrowsOf(graphOf(Object.keys(files), (file) => files[file])), ['. → x', 'x → .'])
})

test('there are no circular imports or JSDoc types', () => {
  const files = [...filesOf('src'), ...filesOf('client')]
  const graph = graphOf(['cluster.js', ...files], (file) => readFileSync(path.join(ROOT, file), 'utf8'))
  assert.ok([...graph.values()].flat().length > files.length, 'imports are found')
  assert.deepEqual(circlesOf(graph), [])
})

test('a process loads nothing that it does not need at rest', () => {
  /** @param {string} entry @returns {Set<string>} files and packages that its static imports reach */
  function loadedBy (entry) {
    const loaded = new Set([entry])
    for (const file of loaded) {
      if (!file.endsWith('.js')) continue
      const text = readFileSync(path.join(ROOT, file), 'utf8')
      for (const [, name] of text.matchAll(/^(?:(?:import|export)\s(?:[^'";]*?\sfrom\s)?|const .+ = require\()'([^']+)'/gm))
        loaded.add(name.startsWith('.') ? path.posix.join(path.posix.dirname(file), name) : name)
    }
    return loaded
  }
  const without = ['commander', 'fast-jwt', 'sirv', 'src/operate/admin/server.js', 'src/services/api/grpc/server.js']
  for (const [entry, uses] of [['gateway', 'socket.io'], ['ingest', 'ioredis'], ['api', 'fastify']]) {
    const loaded = loadedBy(`src/${entry}.js`)
    assert.ok(loaded.has(uses), 'packages are found')
    assert.deepEqual(without.filter((name) => loaded.has(name)), [], entry)
  }
  assert.deepEqual([...loadedBy('cluster.js')], ['cluster.js'])
  assert.deepEqual(without.filter((name) => loadedBy('src/operate/cli/start.js').has(name)), [])
  const launcher = loadedBy('src/operate/launcher/launcher.js')
  assert.deepEqual(['@msgpack/msgpack', 'ioredis'].filter((name) => launcher.has(name)), [], 'launcher')
})

test('no process parses libraries for the names of their exports, which takes 12 MB', async () => {
  const files = [
    'operate/launcher/launcher.js', 'operate/roles/role.js', 'operate/roles/gateway.js', 'operate/roles/ingest.js',
    'operate/roles/api.js', 'kafka/kafkajs/driver.js', 'services/api/grpc/server.js', 'transport/mqtt/packets.js'
  ]
  const program = `
    for (const url of ${JSON.stringify(files.map((file) => new URL(`../../src/${file}`, import.meta.url).href))}) {
      await import(url)
      if (process.moduleLoadList.some((name) => name.includes('cjs-module-lexer')))
        throw new Error(url + ' imports a CommonJS library: load it with createRequire')
    }
    process.exit()`
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
})

test('an import of a later area is found, also of a type', () => {
  const files = /** @type {Record<string, string>} */ ({
    'src/base/common/a.js': 'import \'../../wire/b.js\'',
    'src/wire/b.js': '/** @param {import(\'../gateway/c.js\').C} c */',
    'src/gateway/c.js': 'import { b } from \'../wire/b.js\''
  })
  assert.deepEqual(upwardsOf(graphOf(Object.keys(files), (file) => files[file])), [
    'src/base/common/a.js → src/wire/b.js', 'src/wire/b.js → src/gateway/c.js'
  ])
})

test('each area of src imports only those before it, also types', () => {
  assert.deepEqual(upwardsOf(graphOfServer()), [])
})

test('each area has a page of at most 15 lines with the areas that it imports, and files that exist', () => {
  const numbers = importsByArea(graphOfServer())
  for (const [i, area] of AREAS.entries()) {
    const text = readFileSync(path.join(ROOT, 'src', area, 'README.md'), 'utf8')
    assert.ok(text.split('\n').length <= 16, area)
    const imported = /^Imports: (.*)\.$/m.exec(text)?.[1]
    const names = AREAS.filter((_, j) => j !== i && numbers[i][j] > 0).map((name) => `\`${name}\``).join(', ')
    assert.equal(imported, names || 'no other area', area)
    for (const [, file] of text.matchAll(/`([\w/-]+\/[\w/.-]*|[\w-]+\.js)`/g))
      assert.ok(existsSync(path.join(ROOT, 'src', area, file)) || existsSync(path.join(ROOT, 'src', file)), `${area}: ${file}`)
  }
})
