package exchange

import (
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// CheckEncoding refuses a compressed body: its size does not bound what it becomes.
func CheckEncoding(r *http.Request) *Refusal {
	if encodings := r.Header["Content-Encoding"]; encodings != nil && !slices.Equal(encodings, []string{"identity"}) {
		return &Refusal{Status: http.StatusUnsupportedMediaType, Message: "the body must not be compressed"}
	}
	return nil
}

// CheckNoBody refuses a body where none has an effect.
func CheckNoBody(r *http.Request) *Refusal {
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return &Refusal{Status: http.StatusBadRequest, Message: "the request takes no body"}
	}
	return nil
}

// CheckJSON refuses a body that is declared as anything but JSON. An absent type is
// taken for JSON.
func CheckJSON(r *http.Request) *Refusal {
	if IsJSON(r) {
		return nil
	}
	return &Refusal{Status: http.StatusUnsupportedMediaType, Message: "the content type must be application/json"}
}

// formMedia is the type that "curl -d" declares without -H.
const formMedia = "application/x-www-form-urlencoded"

// isUndeclared reports whether a browser sent a body without declaring it as JSON. Pages send
// forms and plain text to other sites without asking them; what has these headers is sent
// by a browser.
func isUndeclared(r *http.Request) bool {
	if r.Method != http.MethodPost || r.Header["Origin"] == nil && r.Header["Sec-Fetch-Site"] == nil {
		return false
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err != nil || media != "application/json" && media != "application/x-ndjson"
}

// IsJSON reports whether the body is declared as JSON, or not declared, or declared as a
// form. Service.Admit refuses the last two of a browser.
func IsJSON(r *http.Request) bool {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" || contentType == "application/json" {
		return true
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err == nil && media == formMedia {
		return true
	}
	if err != nil || media != "application/json" {
		return false
	}
	charset := parameters["charset"]
	return charset == "" || strings.EqualFold(charset, "utf-8")
}
