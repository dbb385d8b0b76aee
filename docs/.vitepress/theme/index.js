import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default {
  ...theme,
  enhanceApp (context) {
    theme.enhanceApp?.(context)
    if (import.meta.env.SSR) return
    // the home page has no main landmark of its own; the built file has it already (scripts/site/policy.js)
    context.router.onAfterRouteChange = () => {
      requestAnimationFrame(() => document.querySelector('.VPHome')?.setAttribute('role', 'main'))
    }
  }
}
