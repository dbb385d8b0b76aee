import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignColors, colorAt, colorOf } from '../../../packages/demo/page/js/colors.js'

/** Colors before they repeat. */
const MANY = 200

const people = (/** @type {number} */ count) =>
  Array.from({ length: count }, (_, i) => ({ id: `p${i}`, color: colorOf(`p${i}`), since: i }))

test('there are enough different colors, each with the contrast to white that text needs', () => {
  const colors = Array.from({ length: MANY }, (_, i) => colorAt(i))
  assert.equal(new Set(colors).size, MANY)
  for (const color of colors) {
    const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    const contrast = 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05)
    assert.ok(contrast >= 4.5, `${color} ${contrast}`)
  }
})

test('no two people present have the same color', () => {
  const colors = assignColors(people(MANY))
  assert.equal(new Set(colors.values()).size, MANY)
})

test('people who are here longer keep their color, in any order', () => {
  const red = colorAt(0)
  const ada = { id: 'ada', color: red, since: 1 }
  const grace = { id: 'grace', color: red, since: 2 }
  const alan = { id: 'alan', color: colorAt(1), since: 3 }
  const colors = assignColors([grace, alan, ada])
  assert.equal(colors.get('ada'), red)
  assert.equal(new Set(colors.values()).size, 3)
  assert.deepEqual(new Map([...colors].sort()), new Map([...assignColors([ada, alan, grace])].sort()))
})

test('a person with several connections has one color', () => {
  const [ada] = people(1)
  assert.deepEqual([...assignColors([ada, { ...ada }])], [['p0', ada.color]])
})
