import { defineConfig } from 'vitepress'
import { siteConfig } from '../../scripts/site/config.js'

export default defineConfig(siteConfig())
