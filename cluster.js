#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { checkFiles } from './src/config/files.js'
import { ConfigError, loadConfig } from './src/config/load.js'

const USAGE = `inkcast: real-time document gateway

  node cluster.js [--config FILE]   starts everything this machine needs
  node cluster.js --help | --version

Without REDIS_URL it runs embedded: one process, everything in memory.
With REDIS_URL it forks one gateway worker per core and the api; with KAFKA_BROKERS also ingest.
All settings: docs/configuration.md`

/** @param {string} message @returns {never} */
function fail (message) {
  console.error(`inkcast: ${message}`)
  process.exit(1)
}

function parseArguments () {
  try {
    return parseArgs({
      options: { config: { type: 'string' }, help: { type: 'boolean' }, version: { type: 'boolean' } }
    }).values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
  }
}

function readConfig () {
  try {
    const config = loadConfig({ file: options.config })
    checkFiles(config)
    return config
  } catch (error) {
    if (error instanceof ConfigError) return fail(error.message)
    throw error
  }
}

const options = parseArguments()
if (options.help) {
  console.log(USAGE)
} else if (options.version) {
  console.log(JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')).version)
} else {
  const config = readConfig()
  // load only what the mode needs: embedded mode starts without the Redis and Kafka clients
  if (config.mode === 'embedded') {
    const [{ runRole }, { composeEmbedded }] = await Promise.all([import('./src/role.js'), import('./src/embedded.js')])
    await runRole('embedded', composeEmbedded, { configFile: options.config })
  } else {
    const { launch } = await import('./src/launcher/launcher.js')
    await launch(config, { configFile: options.config })
  }
}
