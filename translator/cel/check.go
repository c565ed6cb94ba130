package cel

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/ext"
)

// Problem is what is wrong with an expression and at which of its characters, both
// counted from 1 and columns in runes.
type Problem struct {
	Message      string
	Line, Column int
	// Unknown is a name that is not known, if that is the problem, and Known are those
	// that may stand there.
	Unknown string
	Known   []string
}

// Env is what an expression may speak of.
type Env struct {
	// Variables are the names an expression may begin with.
	Variables []string
	// Time is the path of what is a timestamp, and text in JSON. Nil is none.
	Time []string
	// Terms are Rego references for variables that are no keys of input.
	Terms map[string]string
}

var (
	// Gateway is the request at the gateway point.
	Gateway = Env{Variables: []string{
		"auth", "connection", "context", "destination", "gateway", "metadata", "request", "route", "source",
	}, Time: []string{"request", "time"}}
	// Access is the canonical request at the access point.
	Access = Env{Variables: []string{"request"}}

	merge = Env{Variables: []string{"self", "spec"}}
)

// CheckPredicate says what is wrong with a condition on a gateway request.
func CheckPredicate(text string) *Problem {
	_, problem := CompilePredicate(text, Gateway)
	return problem
}

// CheckExpression says what is wrong with an expression over a gateway request,
// whose value may be any.
func CheckExpression(text string) *Problem {
	_, problem := CompileExpression(text, Gateway)
	return problem
}

// CheckCounter says what is wrong with the expression of a rate limit's counter.
func CheckCounter(text string) *Problem { return CheckExpression(text) }

// CheckAccess says what is wrong with a restriction on an access request.
func CheckAccess(text string) *Problem {
	_, problem := CompilePredicate(text, Access)
	return problem
}

// CheckMerge says what is wrong with a merge condition.
func CheckMerge(text string) *Problem {
	_, problem := CompileMerge(text)
	return problem
}

// maxNested bounds macros within macros: OPA's compiler takes twice as long for each.
const maxNested = 5

// environments are made once: making one costs more than checking with it.
var environments sync.Map // the variables, joined, to *celgo.Env

func (e Env) environment() (*celgo.Env, error) {
	key := strings.Join(e.Variables, " ")
	if made, ok := environments.Load(key); ok {
		return made.(*celgo.Env), nil
	}
	options := []celgo.EnvOption{ext.Strings(), celgo.ASTValidators(
		celgo.ValidateRegexLiterals(), celgo.ValidateTimestampLiterals(), celgo.ValidateDurationLiterals(),
		celgo.ValidateComprehensionNestingLimit(maxNested),
	)}
	for _, name := range e.Variables {
		options = append(options, celgo.Variable(name, celgo.DynType))
	}
	made, err := celgo.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	environments.Store(key, made)
	return made, nil
}

// parse is the checked expression. What is dyn may turn out to be a bool.
func (e Env) parse(text string, predicate bool) (*celgo.Env, *celgo.Ast, *Problem) {
	environment, err := e.environment()
	if err != nil {
		return nil, nil, &Problem{Message: err.Error(), Line: 1, Column: 1}
	}
	checked, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, nil, e.problem(text, issues.Errors())
	}
	if out := checked.OutputType(); predicate && out != celgo.DynType && out != celgo.BoolType {
		line, column := first(text)
		return nil, nil, &Problem{Message: fmt.Sprintf("the expression is of type %s, not bool", celgo.FormatCELType(out)), Line: line, Column: column}
	}
	return environment, checked, nil
}

// problem is the first of them in the text.
func (e Env) problem(text string, errors []*common.Error) *Problem {
	found := slices.MinFunc(errors, func(a, b *common.Error) int {
		if a.Location.Line() != b.Location.Line() {
			return a.Location.Line() - b.Location.Line()
		}
		return a.Location.Column() - b.Location.Column()
	})
	line, column := max(found.Location.Line(), 1), max(found.Location.Column()+1, 1)
	name, ok := quotedAfter(found.Message, "undeclared reference to '")
	if ok && characterAt(text, line, column) == '(' {
		// cel-go points at the bracket of a call.
		return &Problem{
			Message: fmt.Sprintf("there is no function %q", name), Line: line, Column: max(column-len([]rune(name)), 1),
			Unknown: name, Known: functionNames(),
		}
	} else if ok {
		return &Problem{
			Message: fmt.Sprintf("%q is not known; the variables are %s", name, strings.Join(e.Variables, ", ")), Line: line, Column: column,
			Unknown: name, Known: e.Variables,
		}
	}
	return &Problem{Message: message(found.Message), Line: line, Column: column}
}

// characterAt is the character at a place of a text, 0 for none.
func characterAt(text string, line, column int) rune {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return 0
	}
	if runes := []rune(lines[line-1]); column <= len(runes) {
		return runes[column-1]
	}
	return 0
}

// quotedAfter is what stands in quotes after a beginning.
func quotedAfter(text, beginning string) (quoted string, ok bool) {
	rest, ok := strings.CutPrefix(text, beginning)
	quoted, _, _ = strings.Cut(rest, "'")
	return quoted, ok
}

func message(text string) string {
	if rest, ok := strings.CutPrefix(text, "invalid "); ok && strings.HasSuffix(rest, " argument") {
		return fmt.Sprintf("%s cannot read this text", strings.TrimSuffix(rest, " argument"))
	}
	if strings.Contains(text, "'<EOF>'") {
		return "the expression ends before it is complete"
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "Syntax error: "), "\n")
	for _, beginning := range []string{"no viable alternative at input '", "extraneous input '", "mismatched input '", "token recognition error at: '"} {
		if unexpected, ok := quotedAfter(text, beginning); ok && unexpected != "" {
			return fmt.Sprintf("%q is not expected here", strings.TrimSpace(unexpected))
		}
	}
	if name, ok := quotedAfter(text, "found no matching overload for '"); ok {
		_, types, _ := strings.Cut(text, "' applied to '")
		return fmt.Sprintf("%s does not take %s", shown(name), strings.TrimSuffix(types, "'"))
	}
	text, _, _ = strings.Cut(text, " expecting ")
	return text
}

// at is a problem with the part of an expression that has the identifier.
func at(checked *celgo.Ast, id int64, format string, args ...any) *Problem {
	start := checked.NativeRep().SourceInfo().GetStartLocation(id)
	return &Problem{Message: fmt.Sprintf(format, args...), Line: max(start.Line(), 1), Column: max(start.Column()+1, 1)}
}

// first is where the text begins that is not blank.
func first(text string) (line, column int) {
	line, column = 1, 1
	for _, r := range text {
		switch r {
		case '\n':
			line, column = line+1, 1
		case ' ', '\t', '\r':
			column++
		default:
			return line, column
		}
	}
	return line, column
}
