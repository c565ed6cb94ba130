package gateway

import "strings"

// Answers of a condition. Missing is a key that is not there; Failed is any other
// error.
type judged int

const (
	fails judged = iota
	holds
	missing
	failed
)

func truth(fact bool) judged {
	if fact {
		return holds
	}
	return fails
}

// either is CEL's ||, both its &&: what the one side settles does not depend on the
// other. Where both fail, the first decides.
func either(a, b judged) judged {
	switch {
	case a == holds || b == holds:
		return holds
	case a == fails:
		return b
	}
	return a
}

func both(a, b judged) judged {
	switch {
	case a == fails || b == fails:
		return fails
	case a == holds:
		return b
	}
	return a
}

// equals compares a value that may be missing.
func equals(value any, with any) judged {
	if value == nil {
		return missing
	}
	return truth(value == with)
}

func contains(values any, item string) judged {
	switch v := values.(type) {
	case nil:
		return missing
	case []any:
		for _, value := range v {
			if value == item {
				return holds
			}
		}
		return fails
	}
	return failed
}

func adult(seen any) judged { return above(in(seen, "auth", "identity", "age"), 18) }

// hasIdentity is has() of an attribute of the identity, which must be there itself.
func hasIdentity(seen any, key string) judged {
	if in(seen, "auth", "identity") == nil {
		return missing
	}
	return truth(in(seen, "auth", "identity", key) != nil)
}

func not(a judged) judged {
	switch a {
	case holds:
		return fails
	case fails:
		return holds
	default: // neither value has an opposite
	}
	return a
}

// above compares a number that may be missing, or none.
func above(value any, least int) judged {
	switch n := value.(type) {
	case nil:
		return missing
	case int:
		return truth(n > least)
	}
	return failed
}

// predicates are conditions in CEL with what they say, read by hand.
var predicates = map[string]func(seen any) judged{
	"true":                    func(any) judged { return holds },
	"false":                   func(any) judged { return fails },
	"request.method == 'GET'": func(seen any) judged { return equals(in(seen, "request", "method"), "GET") },
	"request.headers['x-tenant'] == 'a'": func(seen any) judged {
		return equals(in(seen, "request", "headers", "x-tenant"), "a")
	},
	"!(request.headers['x-tenant'] == 'a')": func(seen any) judged {
		return not(equals(in(seen, "request", "headers", "x-tenant"), "a"))
	},
	"auth.identity.sub == 'alice' || 'dev' in auth.identity.groups": func(seen any) judged {
		return either(equals(in(seen, "auth", "identity", "sub"), "alice"), contains(in(seen, "auth", "identity", "groups"), "dev"))
	},
	"auth.identity.sub == 'alice' && 'dev' in auth.identity.groups": func(seen any) judged {
		return both(equals(in(seen, "auth", "identity", "sub"), "alice"), contains(in(seen, "auth", "identity", "groups"), "dev"))
	},
	"auth.identity.age > 18": adult,
	"has(auth.identity.age) && auth.identity.age > 18": func(seen any) judged {
		return both(hasIdentity(seen, "age"), adult(seen))
	},
	"auth.identity.age > 18 || request.method == 'GET'": func(seen any) judged {
		return either(adult(seen), truth(in(seen, "request", "method") == "GET"))
	},
	"request.path.startsWith('/books')": func(seen any) judged {
		return truth(strings.HasPrefix(text(in(seen, "request", "path")), "/books"))
	},
	"request.url_path == '/books/7'": func(seen any) judged { return equals(in(seen, "request", "url_path"), "/books/7") },
	"request.query == 'a=1'":         func(seen any) judged { return equals(in(seen, "request", "query"), "a=1") },
	"has(auth.identity.anonymous)":   func(seen any) judged { return hasIdentity(seen, "anonymous") },
	"!has(auth.identity.anonymous)":  func(seen any) judged { return not(hasIdentity(seen, "anonymous")) },
	"source.address.startsWith('10.')": func(seen any) judged {
		if in(seen, "source", "address") == nil {
			return missing
		}
		return truth(strings.HasPrefix(text(in(seen, "source", "address")), "10."))
	},
	"context.request.http.method == 'POST'": func(seen any) judged {
		return equals(in(seen, "context", "request", "http", "method"), "POST")
	},
	"auth.metadata.account.plan == 'gold'": func(seen any) judged {
		return equals(in(seen, "auth", "metadata", "account", "plan"), "gold")
	},
	"size(auth.identity.groups) > 1": func(seen any) judged {
		switch groups := in(seen, "auth", "identity", "groups").(type) {
		case []any:
			return truth(len(groups) > 1)
		case string:
			return truth(len(groups) > 1)
		}
		return missing
	},
	"auth.metadata.account.quota > 3": func(seen any) judged { return above(in(seen, "auth", "metadata", "account", "quota"), 3) },
	"auth.metadata.account.quota > 3 && request.method == 'GET'": func(seen any) judged {
		return both(above(in(seen, "auth", "metadata", "account", "quota"), 3), truth(in(seen, "request", "method") == "GET"))
	},
	"auth.authorization.c.allow == true": func(seen any) judged { return equals(in(seen, "auth", "authorization", "c", "allow"), true) },
	"auth.authorization.c.level > 18":    func(seen any) judged { return above(in(seen, "auth", "authorization", "c", "level"), 18) },
	"request.headers.exists(h, h == 'x-tenant')": func(seen any) judged {
		return truth(in(seen, "request", "headers", "x-tenant") != nil)
	},
}

// computed are values in CEL with what they are; they are never missing.
var computed = map[string]func(seen any) any{
	"request.method == 'GET' ? 'get' : 'delete'": func(seen any) any {
		if in(seen, "request", "method") == "GET" {
			return "get"
		}
		return "delete"
	},
	"'no ' + request.method": func(seen any) any { return "no " + text(in(seen, "request", "method")) },
	"request.path":           func(seen any) any { return in(seen, "request", "path") },
	"size(request.method)":   func(seen any) any { return len(text(in(seen, "request", "method"))) },
	"request.method == 'GET'": func(seen any) any {
		return in(seen, "request", "method") == "GET"
	},
	"has(auth.identity.sub) ? auth.identity.sub : 'unknown'": func(seen any) any {
		if sub := in(seen, "auth", "identity", "sub"); sub != nil {
			return sub
		}
		return "unknown"
	},
}

// bodies are modules in Rego with the values of their rules; what is undefined is
// left out.
var bodies = map[string]func(seen any) map[string]any{
	"allow if input.request.method == \"GET\"\n": func(seen any) map[string]any {
		return map[string]any{"allow": in(seen, "request", "method") == "GET"}
	},
	"allow if {\n  input.auth.identity.sub == \"alice\"\n  level > 1\n}\n\nlevel := input.auth.identity.age\n": func(seen any) map[string]any {
		values := map[string]any{"allow": false}
		level := in(seen, "auth", "identity", "age")
		if level != nil {
			values["level"] = level
		}
		_, isText := level.(string) // text is more than any number
		values["allow"] = in(seen, "auth", "identity", "sub") == "alice" && (isText || number(level) > 1)
		return values
	},
	"allow := input.auth.identity.staff\n": func(seen any) map[string]any {
		if staff := in(seen, "auth", "identity", "staff"); staff != nil {
			return map[string]any{"allow": staff}
		}
		return map[string]any{"allow": false}
	},
	"import rego.v1\n\nallow if \"dev\" in input.auth.identity.groups\n\nallow if startswith(input.context.request.http.path, \"/books\")\n": func(seen any) map[string]any {
		return map[string]any{"allow": contains(in(seen, "auth", "identity", "groups"), "dev") == holds ||
			strings.HasPrefix(text(in(seen, "request", "path")), "/books")}
	},
}
