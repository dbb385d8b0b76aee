import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { commandFolder } from '../../helpers/command.js'
import { waitFor } from '../../helpers/wait.js'
import { freePorts } from '../../services/ports.js'

test('a reload with KAFKA_BROKERS that the launcher does not have replaces nothing, and says to restart the launcher', {
  timeout: 180_000
}, async (t) => {
  const [port, apiPort, adminPort] = await freePorts(3)
  const { folder, start } = commandFolder(t, {
    dotenv: `WORKERS=2\nPORT=${port}\nAPI_PORT=${apiPort}\nADMIN_PORT=${adminPort}\n`
  })
  const launcher = start([])
  const ready = () => fetch(`http://127.0.0.1:${adminPort}/ready`).then(({ ok }) => ok, () => false)
  await waitFor(ready, { timeout: 90_000, message: () => launcher.output })
  appendFileSync(path.join(folder, '.env'), 'KAFKA_BROKERS=127.0.0.1:1\n')
  launcher.kill('SIGHUP')
  const log = () => launcher.output.stdout + launcher.output.stderr
  await waitFor(() => /reload finished|not reloaded/.test(log()), { timeout: 60_000, message: log })
  assert.match(log(), /not reloaded: the new process: .*KAFKA_BROKERS.* restart the launcher/)
  assert.equal(await ready(), true)
  launcher.kill('SIGTERM')
  assert.equal((await launcher.closed).code, 0)
})
