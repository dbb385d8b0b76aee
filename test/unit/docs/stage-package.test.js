import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { tokenizer } from 'acorn'
import { ROOT } from '../../../scripts/site/groups.js'
import { withoutComments, withoutPictures } from '../../../scripts/stage-package.js'

/** @param {string} code */
const tokensOf = (code) => [...tokenizer(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true })]
  .map((token) => {
    const { type, value, loc } = /** @type {any} */ (token)
    return [type.label, value?.pattern ?? value, loc.start.line]
  })

test('code of the npm package is the code of the checkout without its comments, on the same lines', () => {
  let [before, after] = [0, 0]
  for (const folder of ['client', 'src/wire', 'src/transport/engine', 'src/redis']) {
    for (const name of readdirSync(ROOT + folder).filter((one) => one.endsWith('.js'))) {
      const code = readFileSync(`${ROOT}${folder}/${name}`, 'utf8')
      const left = withoutComments(code)
      assert.deepEqual(tokensOf(left), tokensOf(code), `${folder}/${name}`)
      assert.doesNotMatch(left, /^\s*\/\*\*/m, name)
      before += code.length
      after += left.length
    }
  }
  assert.ok(after < 0.9 * before, 'comments are gone')
  assert.equal(withoutComments('#!/usr/bin/env node\nlet a = `// ${1/* x */} ` // b\n/* c\n */ return/**/a'.replace('return', 'void')),
    '#!/usr/bin/env node\nlet a = `// ${1 } `\n \n void a')
})

test('pages of the npm package have descriptions in place of screenshots', () => {
  assert.equal(withoutPictures('![The page](images/a.webp)\n![Plot](images/b.svg)'), '*Picture: The page*\n![Plot](images/b.svg)')
})
