// Runs before the first paint, so that a kept theme does not flash.
if (['light', 'dark'].includes(localStorage.getItem('theme'))) document.documentElement.dataset.theme = localStorage.getItem('theme')
