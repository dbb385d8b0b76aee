import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeDirectory, removeDirectory } from '../../services/directory.js'
import { ensureKafkaArchive } from '../../services/kafka-archive.js'

/**
 * @param {import('node:test').TestContext} t
 */
function setUp (t) {
  const cache = makeDirectory('archive-test')
  t.after(() => removeDirectory(cache))
  const state = { trained: 0, fails: false }
  return {
    state,
    files: () => readdirSync(cache),
    /** @param {string} [version] */
    ensure: (version = 'java 17') => ensureKafkaArchive({
      classpath: join(cache, 'jars', '*'),
      version: async () => version,
      async train (option) {
        state.trained++
        if (state.fails) throw new Error('Unrecognized VM option')
        writeFileSync(option.split('=')[1], `classes of ${version}`)
      }
    })
  }
}

test('an archive is created once for each Java, also with concurrent requests', async (t) => {
  const { ensure, state, files } = setUp(t)
  const [one, two] = await Promise.all([ensure(), ensure()])
  assert.equal(one, two)
  assert.equal(readFileSync(String(one), 'utf8'), 'classes of java 17')
  assert.notEqual(await ensure('java 21'), one)
  assert.equal(await ensure(), one)
  assert.equal(state.trained, 2)
  assert.equal(files().length, 2)
})

test('if none can be created brokers start without it, and nothing is left behind', async (t) => {
  const { ensure, state, files } = setUp(t)
  state.fails = true
  assert.equal(await ensure(), undefined)
  assert.deepEqual(files(), [])
  state.fails = false
  assert.notEqual(await ensure(), undefined)
})
