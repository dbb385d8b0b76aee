import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { PROTO } from '../../src/services/api/grpc/rpcs.js'
import { onPath } from '../services/install.js'

/** gRPC for Python, whose client is generated from the proto: it shares no code with the server. */

const PACKAGES = ['grpcio==1.80.0', 'grpcio-tools==1.80.0']
const folder = join(homedir(), '.cache', 'inkcast', PACKAGES[0])
const python = join(folder, 'bin', 'python')
const run = promisify(execFile)

/** @returns {Promise<string | false>} why it is not available, as a reason to skip; installs it */
export async function lacksPythonGrpc () {
  if (!onPath('python3')) return 'there is no python3'
  if (existsSync(join(folder, 'complete'))) return false
  try {
    await run('python3', ['-m', 'venv', folder])
    await run(python, ['-m', 'pip', 'install', '--quiet', ...PACKAGES], { timeout: 180_000 })
    await run('touch', [join(folder, 'complete')])
    return false
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    return `${PACKAGES[0]} cannot be installed: ${String(error).split('\n')[0]}`
  }
}

/**
 * Generates the client.
 * @param {string} into a folder
 * @returns {Promise<{ python: string, env: Record<string, string> }>} the command that runs programs with it
 */
export async function generatePythonClient (into) {
  await mkdir(into, { recursive: true })
  await run(python, [
    '-m', 'grpc_tools.protoc', '-I', dirname(PROTO), `--python_out=${into}`, `--grpc_python_out=${into}`, PROTO
  ])
  return { python, env: { PYTHONPATH: into } }
}
