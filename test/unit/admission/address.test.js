import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressOf, isPrivate, proxyList } from '../../../src/transport/admission/address.js'

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

/** Ways in which proxies write an IPv4 address. @type {((v4: string) => string)[]} */
const V4_FORMS = [
  (v4) => v4, (v4) => `${v4}:443`, (v4) => `::ffff:${v4}`, (v4) => `::FFFF:${v4}`, (v4) => `0:0:0:0:0:ffff:${v4}`,
  (v4) => `[::ffff:${v4}]`, (v4) => `[::ffff:${v4}]:51000`, (v4) => `::ffff:${hexOf(v4)}`,
  (v4) => `[::ffff:${hexOf(v4)}]:1`
]
/** The same for IPv6. @type {((v6: string) => string)[]} */
const V6_FORMS = [
  (v6) => v6, (v6) => v6.toUpperCase(), (v6) => `[${v6}]`, (v6) => `[${v6}]:8443`, (v6) => `${v6}%eth0`,
  (v6) => `[${v6}%eth0]:80`
]
/** What may stand around each of them. @type {((text: string) => string)[]} */
const AROUND = [
  (text) => text, (text) => ` ${text} `, (text) => `\t${text}`, (text) => `"${text}"`, (text) => ` "${text}" `,
  (text) => `"${text}" , 10.0.0.1`, (text) => `198.51.100.77, ${text}`, (text) => `unknown, ${text},10.0.0.2:80`,
  (text) => `${text}, [fd00::2]:443`, (text) => `"[2001:db8:9::1]:1", ${text}, "10.0.0.1:1", ::ffff:10.0.0.3`
]
const ADDRESSES = {
  '203.0.113.5': { address: '203.0.113.5', forms: V4_FORMS },
  '8.8.0.1': { address: '8.8.0.1', forms: V4_FORMS },
  '2001:db8:1:2::1': { address: '2001:db8:1:2::/64', forms: V6_FORMS },
  '2001:db8::': { address: '2001:db8:0:0::/64', forms: V6_FORMS },
  '2001:db8:1:2:3:4:5:6': { address: '2001:db8:1:2::/64', forms: V6_FORMS }
}

/** @param {string} v4 */
function hexOf (v4) {
  const [a, b, c, d] = v4.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

test('an address is read in every form in which proxies write it, and so are those of the proxies', () => {
  let count = 0
  for (const [written, { address, forms }] of Object.entries(ADDRESSES)) {
    for (const form of forms) {
      for (const around of AROUND) {
        const header = around(form(written))
        assert.equal(behind('10.0.0.1', header), address, header)
        assert.equal(behind('::ffff:10.0.0.1', header), address, header)
        count++
      }
    }
  }
  assert.equal(count, 360)
})

test('text that is no address ends the chain at the proxy that wrote it', () => {
  for (const text of ['unknown', '_hidden', '', '""', '[', '[]', '[1.2.3', '1.2.3.4.5', '1.2.3.4:', '1.2.3.4:123456',
    'host.example', '2001:db8::1]:80', 'for=1.2.3.4', '1.2.3.256', '[::ffff:1.2.3.4', ':80', '%eth0'])
    assert.equal(behind('10.1.2.3', `198.51.100.1, ${text}`), '10.1.2.3', text)
})

test('private addresses are known in every form', () => {
  for (const address of ['127.0.0.1', '127.9.9.9', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1',
    '169.254.1.1', '100.64.0.1', '::1', 'fe80::1', 'fe80::1%eth0', 'fd12:3456::1', '::ffff:10.1.2.3', '::ffff:7f00:1'])
    assert.equal(isPrivate(address), true, address)
  for (const address of ['8.8.8.8', '172.32.0.1', '192.169.0.1', '100.128.0.1', '2001:db8::1', '::ffff:8.8.8.8'])
    assert.equal(isPrivate(address), false, address)
  assert.equal(isPrivate(undefined), true)
})
