/**
 * Versions of the services.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { ensureInstalled } from '../../test/services/install.js'
import { ensureKafkaJars } from '../../test/services/kafka-jars.js'

/** @returns {Promise<{ redis: string, kafka: string }>} installs missing services */
export async function serviceVersions () {
  await ensureInstalled(['redis-server', 'java'])
  const jars = readdirSync(path.dirname(await ensureKafkaJars()))
  return {
    redis: /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown',
    kafka:
      jars.map((name) => /^kafka_[\d.]+-([\d.]+)\.jar$/.exec(name)?.[1]).find((version) => version !== undefined) ??
      'unknown'
  }
}
