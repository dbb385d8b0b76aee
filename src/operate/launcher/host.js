import cluster from 'node:cluster'
import { fork } from 'node:child_process'
import { isTraced, readUsage } from '../../base/process/usage.js'

/** @type {import('./places.js').LauncherHost} */
export const launcherHost = {
  fork ({ file, clustered, env, execArgv }) {
    if (!clustered) return fork(file, [], { env, execArgv })
    cluster.setupPrimary({ exec: file, execArgv, args: [] })
    return cluster.fork(env).process
  },
  usageOf: readUsage,
  traced: isTraced
}
