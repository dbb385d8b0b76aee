import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)
const SCRIPTS = new URL('src/redis/scripts/', ROOT)

/** Names of Lua files that no file of src/redis/scripts has. @param {string} folder */
function missingIn (folder) {
  const files = readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
  const named = files.filter((file) => /\.(js|lua|md)$/.test(file) && !file.includes('dist/')).flatMap((file) => {
    const text = readFileSync(new URL(`${folder}/${file}`, ROOT), 'utf8')
    return [...text.matchAll(/(?<![\w}/-])((?:include\/)?[\w-]+\.lua)\b/g)].map(([, name]) => ({ file, name }))
  })
  assert.ok(named.length > 10, folder)
  return named.filter(({ name }) => ![name, `include/${name}`].some((path) => existsSync(new URL(path, SCRIPTS))))
}

test('every script that a comment or a page names exists', () => {
  assert.deepEqual(missingIn('src'), [])
  assert.deepEqual(missingIn('docs'), [])
})
