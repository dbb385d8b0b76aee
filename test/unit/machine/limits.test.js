import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkLimits, diagnose, readMachine } from '../../../src/base/machine/limits.js'
import { report } from '../../../src/base/machine/report.js'
import { RULES } from '../../../src/base/machine/kernel-limits.js'

const ROOT = new URL('../../../', import.meta.url)
const LIMITS = (/** @type {number} */ soft, hard = soft) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}    ${hard}    files`

/** A machine without problems. @type {Record<string, string>} */
const GOOD = {
  '/proc/self/limits': LIMITS(1_048_576),
  '/proc/sys/fs/nr_open': '1048576\n',
  '/proc/sys/fs/file-max': '9223372036854775807\n',
  '/proc/sys/net/core/somaxconn': '4096\n',
  '/proc/sys/net/ipv4/tcp_max_syn_backlog': '8192\n',
  '/proc/sys/net/ipv4/tcp_syncookies': '1\n',
  '/proc/sys/net/ipv4/ip_local_port_range': '1024\t65535\n',
  '/proc/sys/net/ipv4/ip_local_reserved_ports': '3000-3001,9100\n',
  '/proc/sys/net/ipv4/tcp_tw_reuse': '1\n',
  '/proc/sys/net/ipv4/tcp_mem': '287898\t383867\t575796\n',
  '/proc/sys/net/netfilter/nf_conntrack_max': '262144\n',
  '/proc/sys/vm/overcommit_memory': '1\n',
  '/sys/kernel/mm/transparent_hugepage/enabled': 'always [madvise] never\n'
}
/** @type {import('../../../src/base/machine/kernel-limits.js').Use[]} */
const ALL = ['gateway', 'balancer', 'redis']

/** @param {Record<string, string>} [changed] */
const machine = (changed = {}) => readMachine((file) => ({ ...GOOD, ...changed })[file] ?? '')

describe('limits of a machine', () => {
  test('that are enough are not reported', () => {
    assert.deepEqual(checkLimits(machine(), { uses: ALL }), [])
    assert.equal(report([]), 'Nothing to change on this machine.\n')
  })

  test('that are not known are not reported', () => {
    assert.deepEqual(checkLimits(readMachine(() => ''), { uses: ALL }), [])
  })

  test('five that are wrong are reported with their value, the reason and the command that sets them', () => {
    const findings = checkLimits(machine({
      '/proc/self/limits': LIMITS(1024, 4096),
      '/proc/sys/net/core/somaxconn': '128\n',
      '/proc/sys/net/ipv4/tcp_max_syn_backlog': '512\n',
      '/proc/sys/net/ipv4/ip_local_reserved_ports': '\n',
      '/proc/sys/net/netfilter/nf_conntrack_max': '65536\n'
    }))
    assert.deepEqual(findings.map(({ name, now, wanted }) => [name, now, wanted]), [
      ['nofile', '1024', '105331 or more'],
      ['net.core.somaxconn', '128', '4096 or more'],
      ['net.ipv4.tcp_max_syn_backlog', '512', '8192 or more'],
      ['net.ipv4.ip_local_reserved_ports', 'none', '3000,3001,9100'],
      ['net.netfilter.nf_conntrack_max', '65536', '262144 or more']
    ])
    const text = report(findings)
    for (const { name, why, set } of findings)
      for (const part of [name, why, set]) assert.ok(text.includes(part), part)
    assert.match(text, /^net\.core\.somaxconn = 4096$/m, 'for /etc/sysctl.d')
    assert.match(text, /5 to change/)
  })

  test('of each kind are reported for the machines that they concern', () => {
    const names = (/** @type {import('../../../src/base/machine/kernel-limits.js').Use} */ use) => checkLimits(machine({
      '/proc/self/limits': LIMITS(1024),
      ...Object.fromEntries(Object.keys(GOOD).filter((file) => file.startsWith('/proc/sys')).map((file) => [file, '0\n'])),
      '/proc/sys/net/ipv4/ip_local_port_range': '2048\t60999\n',
      '/proc/sys/net/ipv4/tcp_mem': '1\t2\t3\n',
      '/sys/kernel/mm/transparent_hugepage/enabled': '[always] madvise never\n'
    }), { uses: [use] }).map(({ name }) => name)
    for (const use of ALL)
      assert.deepEqual(names(use), RULES.filter(({ uses }) => uses.includes(use)).map(({ name }) => name))
  })

  test('grow with the connections, shared by the workers', () => {
    const nofile = (/** @type {object} */ wanted) =>
      checkLimits(machine({ '/proc/self/limits': LIMITS(1024) }), wanted)[0]?.wanted
    assert.equal(nofile({ connections: 400_000, workers: 4 }), '105331 or more')
    assert.equal(nofile({ connections: 100_000, workers: 4 }), '63226 or more')
    const [memory] = checkLimits(machine(), { connections: 2_000_000, workers: 40 })
      .filter(({ name }) => name === 'net.ipv4.tcp_mem')
    assert.equal(memory.set, 'sysctl -w net.ipv4.tcp_mem=\'1000000 1500000 2000000\'')
  })

  test('are those of docs/kernel.md, with the same machines', () => {
    const text = readFileSync(new URL('docs/kernel.md', ROOT), 'utf8').split('\n## Limits\n')[1].split('\n## ')[0]
    const rows = [...text.matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)].map(([, name, uses]) => [name, uses])
    assert.deepEqual(rows, RULES.map(({ name, uses }) => [name, uses.length === ALL.length ? 'all' : uses.join(', ')]))
  })

  test('are printed as docs/kernel.md shows', () => {
    const text = readFileSync(new URL('docs/kernel.md', ROOT), 'utf8')
    const low = machine({
      '/proc/self/limits': LIMITS(1024),
      '/proc/sys/net/core/somaxconn': '128\n',
      '/proc/sys/net/netfilter/nf_conntrack_max': ''
    })
    assert.ok(text.includes(`\`\`\`text\n${report(checkLimits(low, { connections: 200_000, workers: 8 }))}\`\`\``))
  })

  test('of this machine are printed by the script', { skip: process.platform !== 'linux' && 'Linux only' }, async () => {
    const script = fileURLToPath(new URL('src/base/machine/check.js', ROOT))
    const run = (/** @type {string[]} */ ...args) => promisify(execFile)(process.execPath, [script, ...args])
      .catch((error) => error)
    const { code = 0, stdout } = await run('--for', 'gateway,redis', '--json')
    assert.equal(code, JSON.parse(stdout).length === 0 ? 0 : 1)
    assert.equal((await run('--for', 'kafka')).code, 2)
    assert.equal((await run('--connections', 'many')).code, 2)
    const { stdout: help } = await run('--help')
    for (const option of ['--for', '--connections', '--workers', '--ports', '--json']) assert.ok(help.includes(option))
  })

  test('that are low are in the log of a process', () => {
    const low = machine({ '/proc/self/limits': LIMITS(1024), '/proc/sys/net/core/somaxconn': '128\n' })
    const [files, backlog, ...more] = diagnose(low, { production: true })
    assert.match(files, /1024.*65536/)
    assert.match(backlog, /128.*net\.core\.somaxconn.*4096/)
    assert.deepEqual(more, [])
    assert.deepEqual(diagnose(machine(), { production: true }), [])
    assert.deepEqual(diagnose(machine({ '/proc/self/limits': LIMITS(20_000) }), { production: false }), [])
    assert.deepEqual(diagnose(readMachine(() => ''), { production: true }), [], 'unknown limits are not reported')
  })
})
