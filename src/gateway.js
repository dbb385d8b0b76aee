import { runRole } from './operate/roles/role.js'
import { composeGateway } from './operate/roles/gateway.js'

await runRole('gateway', composeGateway)
