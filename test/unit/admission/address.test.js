import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressOf, proxyList } from '../../../src/admission/address.js'

const direct = createAddressOf(proxyList([]))
const behind = createAddressOf(proxyList(['10.0.0.0/8', '192.0.2.1', 'fd00::/8']))

test('a client has the address of its connection, regardless of headers', () => {
  assert.equal(direct('203.0.113.5', undefined), '203.0.113.5')
  assert.equal(direct('203.0.113.5', '198.51.100.1'), '203.0.113.5')
  assert.equal(behind('203.0.113.5', '198.51.100.1'), '203.0.113.5')
  assert.equal(direct(undefined, '198.51.100.1'), '')
})

test('behind proxies it is the last address that is not a proxy\'s', () => {
  assert.equal(behind('10.1.2.3', '198.51.100.1'), '198.51.100.1')
  assert.equal(behind('::ffff:10.1.2.3', '1.1.1.1, 198.51.100.1 ,10.9.9.9'), '198.51.100.1')
  assert.equal(behind('192.0.2.1', undefined), '192.0.2.1')
  assert.equal(behind('10.1.2.3', '10.0.0.1, 192.0.2.1'), '10.0.0.1')
  assert.equal(behind('fd00::1', '::ffff:198.51.100.1'), '198.51.100.1')
  // an invalid address ends the chain
  assert.equal(behind('10.1.2.3', '198.51.100.1, unknown'), '10.1.2.3')
  assert.equal(behind('10.1.2.3', ''), '10.1.2.3')
})

test('one IPv6 network is one client', () => {
  assert.equal(direct('2001:db8:1:2:3:4:5:6', undefined), '2001:db8:1:2::/64')
  assert.equal(direct('2001:0db8:0001:0002::1', undefined), '2001:db8:1:2::/64')
  assert.equal(direct('2001:db8::1', undefined), '2001:db8:0:0::/64')
  assert.equal(direct('::1', undefined), '0:0:0:0::/64')
  assert.equal(direct('fe80::1%eth0', undefined), 'fe80:0:0:0::/64')
  assert.equal(direct('::ffff:203.0.113.5', undefined), '203.0.113.5')
})
