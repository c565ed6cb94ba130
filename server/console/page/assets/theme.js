// Runs before the first paint, so that neither a kept theme nor the buttons of scripts come late.
document.documentElement.classList.add('scripts')
if (['light', 'dark'].includes(localStorage.getItem('theme'))) document.documentElement.dataset.theme = localStorage.getItem('theme')
