import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColumns } from '../../../packages/demo/page/js/guest-columns.js'

/** @param {string} connection @param {boolean} guest */
const person = (connection, guest) => ({ id: connection, name: 'x', color: '#1d3557', since: 1, guest, connection })

test('guests keep out of the column of a visitor until the visitor is gone', () => {
  const columns = createColumns()
  columns.present([person('visitor', false), person('guest', true)])
  columns.selected('guest', 'D2')
  assert.deepEqual(columns.free(), ['A', 'B', 'D', 'E'])
  columns.selected('visitor', 'E7')
  columns.selected('visitor', null)
  assert.deepEqual([columns.free(), columns.isFree('E')], [['A', 'B', 'D'], false])
  assert.deepEqual([columns.isAt('E7'), columns.isAt('E8')], [true, false])
  columns.selected('visitor', 'B1')
  assert.deepEqual(columns.free(), ['A', 'D', 'E'])
  columns.present([person('guest', true)])
  assert.deepEqual(columns.free(), ['A', 'B', 'D', 'E'])
})

test('guests keep out of the column of the visitor who brought them in from the start', () => {
  const columns = createColumns()
  columns.host('E9')
  columns.host(null)
  columns.present([person('guest', true)])
  assert.deepEqual(columns.free(), ['A', 'B', 'D'])
})
