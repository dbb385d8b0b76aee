import { runRole } from './operate/roles/role.js'
import { composeApi } from './operate/roles/api.js'

await runRole('api', composeApi)
