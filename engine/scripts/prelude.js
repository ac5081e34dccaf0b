/* Runs in every fresh guest before the user's script, as a global script of its own. Its value is [run, take].

   console and structuredClone are lexical globals, not properties of globalThis: a script may declare its own.
   Everything used after the user's code has started is taken from the untouched primordials here, and property
   descriptors have no prototype, so a script that overwrites built-ins harms only itself. */
let console, structuredClone;
(() => {
  'use strict';
  const host = globalThis.__host;
  delete globalThis.__host;

  const {parse, stringify} = JSON;
  const {isArray} = Array;
  const {keys, is, defineProperty, prototype: plain} = Object, boxed = Object;
  const Text = String, Big = BigInt, Numeral = Number, Pledge = Promise, Failure = Error, CloneFailure = DOMException;
  const Pairs = Map, Bag = Set, Moment = Date, Pattern = RegExp, Bytes = ArrayBuffer, {isView} = ArrayBuffer;
  const AsyncFunction = (async () => {}).constructor;
  const method = f => Function.prototype.call.bind(f);
  const push = method([].push), cut = method(''.slice), wellFormed = method(''.toWellFormed);
  const indexOf = method(''.indexOf), padStart = method(''.padStart), padEnd = method(''.padEnd);
  const numberValue = method(Number.prototype.valueOf), bigValue = method(BigInt.prototype.valueOf);
  const precedes = method(plain.isPrototypeOf), tag = method(plain.toString);
  const get = method(Map.prototype.get), set = method(Map.prototype.set), add = method(Set.prototype.add);
  const eachPair = method(Map.prototype.forEach), eachItem = method(Set.prototype.forEach);
  const define = (target, name, value, enumerable) =>
    defineProperty(target, name, {__proto__: null, value, enumerable, writable: true, configurable: true});

  /* ---- asking the host: "name [arguments]" out, JSON text or "!message" back ---- */

  const REQUEST = 1_000_000;
  const ask = (name, args) => {
    if (args.length > REQUEST) throw new Failure('the arguments of ctx.' + name + ' are longer than ' + REQUEST + ' characters');
    const reply = host(name + ' ' + args);
    if (reply[0] === '!') throw new Failure(cut(reply, 1));
    return reply;
  };
  const readField = name => {
    /* An array may come in chunks: a leading space says that another one follows. */
    let reply = ask('#field', '[' + stringify(name) + ',0]');
    const value = parse(reply);
    for (let i = 1; reply[0] === ' '; i++) {
      reply = ask('#field', '[' + stringify(name) + ',' + i + ']');
      const more = parse(reply);
      for (let j = 0; j < more.length; j++) push(value, more[j]);
    }
    return value;
  };

  const CATALOGS = ['guideline', 'knowledge', 'character'];
  const makeContext = (fields, functions) => {
    const ctx = {};
    const lazy = (name, enumerable, read) => {
      const keep = value => (define(ctx, name, value, enumerable), value);
      defineProperty(ctx, name, {__proto__: null, enumerable, configurable: true, set: keep, get: () => keep(read())});
    };
    for (const kind of CATALOGS) lazy(kind + 'Shortlist', false, () => ctx[kind + 'Catalog']);
    for (const name of fields) lazy(name, true, () => readField(name));
    for (const name of functions) ctx[name] = async (...args) => parse(ask(name, stringify(args)));
    return ctx;
  };

  /* ---- what runtimes offer and the bare language does not ---- */

  const isError = value => { try { return precedes(Failure.prototype, value) } catch { return false } };
  const text = (value, most) => { try { return wellFormed(cut(Text(value), 0, most)) } catch { return '?' } };
  const property = (value, name, most) => { try { return text(value[name], most) } catch { return '?' } };

  const shown = (value, most) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'bigint') return Text(value) + 'n';
    if (isError(value)) return property(value, 'name', most) + ': ' + property(value, 'message', most);
    if (typeof value === 'object' && value !== null) {
      try { const json = stringify(value); if (typeof json === 'string') return json } catch { /* circular, BigInt */ }
    }
    return text(value, most);
  };
  const makeConsole = (lines, length) => {
    let left = lines;
    const log = (...values) => {
      /* One more than the lines kept, so that the host knows that there were more. */
      if (left-- < 0) return;
      let line = '';
      for (let i = 0; i < values.length && line.length <= length; i++) line += (i ? ' ' : '') + shown(values[i], length + 1);
      host('#log ' + stringify(wellFormed(cut(line, 0, length + 1))));
    };
    return {log, info: log, warn: log, error: log, debug: log};
  };

  const refuse = what => { throw new CloneFailure(what + ' could not be cloned.', 'DataCloneError') };
  const clone = (value, seen) => {
    if (typeof value === 'function' || typeof value === 'symbol') refuse(text(value, 100));
    if (typeof value !== 'object' || value === null) return value;
    const known = get(seen, value);
    if (known !== undefined) return known;
    const made = copy => (set(seen, value, copy), copy);
    if (isArray(value)) {
      const copy = made([]);
      copy.length = value.length;
      for (const key of keys(value)) copy[key] = clone(value[key], seen);
      return copy;
    }
    switch (tag(value)) {
      case '[object Date]': return made(new Moment(+value));
      case '[object RegExp]': return made(new Pattern(value.source, value.flags));
      case '[object Number]': case '[object String]': case '[object Boolean]': case '[object BigInt]':
        return made(boxed(value.valueOf()));
      case '[object Map]': {
        const copy = made(new Pairs());
        eachPair(value, (item, key) => set(copy, clone(key, seen), clone(item, seen)));
        return copy;
      }
      case '[object Set]': {
        const copy = made(new Bag());
        eachItem(value, item => add(copy, clone(item, seen)));
        return copy;
      }
      case '[object Error]': {
        const copy = made(new Failure(value.message));
        define(copy, 'name', value.name, false);
        return copy;
      }
      case '[object ArrayBuffer]': return made(value.slice(0));
      case '[object Promise]': case '[object WeakMap]': case '[object WeakSet]': case '[object WeakRef]':
        refuse(tag(value));
    }
    if (isView(value)) return made(value.buffer instanceof Bytes && value.slice ? value.slice() : refuse(tag(value)));
    const copy = made({});
    for (const key of keys(value)) define(copy, key, clone(value[key], seen), true);
    return copy;
  };

  const grouped = digits => {
    let out = cut(digits, -3);
    for (let end = digits.length - 3; end > 0; end -= 3) out = cut(digits, end > 3 ? end - 3 : 0, end) + ',' + out;
    return out;
  };
  const places = (options, name, fallback) => {
    const wanted = options?.[name];
    return wanted >= 0 && wanted <= 100 ? wanted - wanted % 1 : fallback;
  };
  /* A number as en-US writes it: rounded half away from zero, on the shortest decimal digits as ICU does. */
  const localNumber = (value, options) => {
    if (value !== value) return 'NaN';
    const sign = value < 0 || is(value, -0) ? '-' : '';
    if (value === Infinity || value === -Infinity) return sign + '∞';
    const least = places(options, 'minimumFractionDigits', 0);
    let most = places(options, 'maximumFractionDigits', least > 3 ? least : 3);
    if (most < least) most = least;

    let digits = Text(value < 0 ? -value : value), exponent = 0;
    const e = indexOf(digits, 'e');
    if (e > 0) { exponent = Numeral(cut(digits, e + 1)); digits = cut(digits, 0, e) }
    const dot = indexOf(digits, '.');
    if (dot >= 0) { exponent -= digits.length - dot - 1; digits = cut(digits, 0, dot) + cut(digits, dot + 1) }

    const kept = digits.length + exponent + most; /* how many of the digits stay */
    const head = kept <= 0 ? '0' : padEnd(cut(digits, 0, kept), kept, '0');
    const up = kept >= 0 && kept < digits.length && digits[kept] >= '5';
    const whole = padStart(Text(Big(head) + (up ? 1n : 0n)), most + 1, '0');
    let end = whole.length;
    while (end > whole.length - most + least && whole[end - 1] === '0') end--;
    const fraction = cut(whole, whole.length - most, end);
    return sign + grouped(cut(whole, 0, whole.length - most)) + (fraction && '.' + fraction);
  };
  const {toLocaleString: numberText} = {
    toLocaleString(locales, options) { return localNumber(numberValue(this), options) },
  };
  const {toLocaleString: bigText} = {
    toLocaleString() {
      const value = bigValue(this);
      return value < 0n ? '-' + grouped(Text(-value)) : grouped(Text(value));
    },
  };

  /* ---- running a script: `result` is one letter for what happened and its text ---- */

  let result = '';
  const take = () => { const taken = result; result = ''; return taken };
  /* A class that extends Error without setting `name` inherits it: then its own name says more. */
  const errorName = (error, most) => {
    const name = property(error, 'name', most);
    try {
      const own = error.constructor.name;
      if (name === 'Error' && typeof own === 'string' && own !== '') return text(own, most);
    } catch { /* no constructor, or one that throws */ }
    return name;
  };
  /* The last part is for people: what was thrown, where it is no Error and its text would say nothing. */
  const failed = (letter, error, most) => {
    const said = text(error, most), dumb = indexOf(said, '[object ') === 0 || isArray(error);
    const parts = isError(error)
      ? [errorName(error, most), property(error, 'message', most), property(error, 'stack', most), '']
      : ['', said, '', dumb ? text(shown(error, most), most) : ''];
    result = letter + '[' + stringify(parts[0]) + ',' + stringify(parts[1]) + ',' + stringify(parts[2]) + ',' +
      stringify(parts[3]) + ']';
  };
  const run = async (body, fields, functions, [output, errorText, consoleLines, consoleLength]) => {
    console = makeConsole(consoleLines, consoleLength);
    structuredClone = value => clone(value, new Pairs());
    define(Numeral.prototype, 'toLocaleString', numberText, false);
    define(Big.prototype, 'toLocaleString', bigText, false);
    const ctx = makeContext(fields, functions);
    let script;
    try { script = new AsyncFunction('ctx', body) } catch (error) { failed('y', error, errorText); return }
    try {
      const promise = script(ctx);
      /* `await` trusts a promise whose constructor is Promise, and then calls nothing a script can have replaced. */
      define(promise, 'constructor', Pledge, false);
      const value = await promise;
      if (typeof value !== 'string') result = 't' + (value === null ? 'null' : isArray(value) ? 'array' : typeof value);
      else if (value.length > output) result = 'L' + value.length;
      else result = 's' + wellFormed(value);
    } catch (error) {
      if (error === null) result = 'n';
      else failed('e', error, errorText);
    }
  };
  return [run, take];
})()
