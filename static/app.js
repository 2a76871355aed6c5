// SPDX-License-Identifier: Apache-2.0
// Starts the page; where its modules are not installed (static/vendor.sh) or do not load, says what there is.
import('./shell.js')
  .then(({ start }) => start(document.getElementById('page')))
  .catch((e) => {
    const say = document.createElement('p');
    say.setAttribute('role', 'alert');
    say.className = 'notice';
    const link = Object.assign(document.createElement('a'), { href: '/board', textContent: 'The plain board' });
    say.append('The page could not be loaded: ', e.message, '. ', link, ' and the API at /v1 work without it.');
    document.querySelector('main').append(say);
  });
