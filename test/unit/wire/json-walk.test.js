import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawItems } from '../../../src/wire/json-walk.js'
import { randomValue, seededRandom } from '../../helpers/random.js'

test('the values of a list are found as they were written', () => {
  for (const [text, values] of /** @type {[string, (string | undefined)[] | null][]} */ ([
    ['{"l":[]}', []],
    [' {\n"x":[{"v":1}],"l" : [ {"v" : 1.50 } , {} , 7 , "v" , null , {"w":{"v":2}} ] } ',
      ['1.50', undefined, undefined, undefined, undefined, undefined]],
    ['{"l":[{"v":1}],"l":[{"v":2,"v":3}]}', ['3']],
    ['{"\\u006c":[{"\\u0076":"]}\\\\"}]}', ['"]}\\\\"']],
    ['{"m":[{"v":1}]}', null],
    [`{"l":[{"v":${'['.repeat(256)}${']'.repeat(256)}}]}`, ['['.repeat(256) + ']'.repeat(256)]],
    [`{"l":[{"v":${'['.repeat(257)}${']'.repeat(257)}}]}`, null]
  ])) {
    JSON.parse(text)
    assert.deepEqual(rawItems(text, 'l', 'v'), values, text)
  }
})

test('any values are found, with any white space', () => {
  const random = seededRandom(18)
  for (let i = 0; i < 300; i++) {
    const values = Array.from({ length: 1 + i % 5 }, () => JSON.stringify(randomValue(random)) ?? 'null')
    const pad = ' \n\t'.slice(0, i % 4)
    const text = `{${pad}"l"${pad}:${pad}[${values.map((v) => `{"a":${v}${pad},"v":${pad}${v}${pad}}`).join(pad + ',')}]}`
    assert.deepEqual(rawItems(text, 'l', 'v'), values, text)
  }
})
