import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { createServer } from 'node:net'
import { json } from 'node:stream/consumers'
import { listen } from '../../../base/process/listen.js'
import { reachable } from '../common/settings.js'
import { findingsOf } from './finding.js'

/** ms */
const TIMEOUT = 2000

const { ok, error } = findingsOf('ports')

/** @typedef {import('./finding.js').Finding} Finding */
/** @typedef {{ name: string, host: string, hostName: string, port: number }} Port */

/**
 * @param {import('../../../config/load.js').Config} config
 * @returns {Promise<Finding[]>}
 */
export async function checkPorts (config) {
  const ports = portsOf(config)
  const doubled = ports.filter(({ port, host }, index) =>
    ports.slice(0, index).some((other) => other.port === port && other.host === host))
  if (doubled.length > 0) {
    return doubled.map(({ name, port }) => error(
      `${name}=${port} is also the port of ${ports.find((other) => other.port === port)?.name}`, `give ${name} another port`
    ))
  }
  if (await runsHere(config.admin))
    return [ok(`inkcast runs here already: it answers at ADMIN_PORT ${config.admin.port}, its ports are not checked`)]
  const findings = (await Promise.all(ports.map(tryPort))).filter((finding) => finding !== undefined)
  return findings.length > 0 ? findings : [ok(`free: ${ports.map(({ name, port }) => `${name} ${port}`).join(', ')}`)]
}

/** @param {import('../../../config/load.js').Config} config @returns {Port[]} without those that could not be read */
const portsOf = ({ gateway, api, admin }) =>
  [
    { name: 'PORT', host: gateway.host, hostName: 'HOST', port: gateway.port },
    ...(gateway.listeners ?? []).flatMap(({ host, port, name }) =>
      host === undefined ? [] : [{ name: `LISTENERS (${name})`, host, hostName: 'the address', port }]),
    { name: 'API_PORT', host: api.host, hostName: 'API_HOST', port: api.port },
    { name: 'GRPC_PORT', host: api.host, hostName: 'API_HOST', port: api.grpcPort },
    { name: 'ADMIN_PORT', host: admin.host, hostName: 'ADMIN_HOST', port: admin.port },
    { name: 'AGENT_PORT', host: admin.host, hostName: 'ADMIN_HOST', port: admin.agentPort }
  ].flatMap((entry) => entry.port ? [{ ...entry, port: entry.port }] : [])

/** @param {Port} entry @returns {Promise<Finding | undefined>} */
async function tryPort ({ name, host, hostName, port }) {
  const server = createServer()
  try {
    await listen(server, { host, port })
    return undefined
  } catch (wrong) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (wrong)
    if (code === 'EADDRINUSE')
      return error(`${name}: port ${port} is in use`, `stop what uses it (ss -ltnp 'sport = :${port}'), or set ${name} to a free one`)
    if (code === 'EACCES')
      return error(`${name}: this user may not use port ${port}`, `set ${name} to a port above 1023, or allow it (setcap ` +
        'cap_net_bind_service)')
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      return error(`${hostName}=${host} is not an address of this machine`, `correct ${hostName}; 0.0.0.0 stands for all of them`)
    return error(`${name}: ${message}`, `correct ${name} or ${hostName}`)
  } finally {
    await new Promise((resolve) => { server.close(resolve) })
  }
}

/** @param {import('../../../config/load.js').Config['admin']} admin @returns {Promise<boolean>} */
async function runsHere ({ host, port, tls }) {
  if (!host || !port) return false
  // its certificate need not name this address
  const options = { agent: false, timeout: TIMEOUT, rejectUnauthorized: false }
  const url = `${tls === undefined ? 'http' : 'https'}://${reachable(host)}:${port}/live`
  try {
    const req = (tls === undefined ? http : https).get(url, options)
    req.on('timeout', () => req.destroy())
    const [answer] = await once(req, 'response')
    return /** @type {any} */ (await json(answer)).live === true
  } catch {
    return false
  }
}
