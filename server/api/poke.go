package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// Headers by which forges prove that they know the secret: GitHub signs the body,
// GitLab sends the secret itself.
const (
	githubSignature = "X-Hub-Signature-256"
	gitlabToken     = "X-Gitlab-Token"
)

// maxPoke bounds a webhook's body, which says what was pushed and is not read for
// that.
const maxPoke = 1 << 20

// poke makes the source look for new documents. What the body says is not believed:
// the source is asked itself.
func (s *service) poke(c *gin.Context) {
	secret := s.PokeSecret()
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxPoke))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		s.refuse(c, &refusal{status: http.StatusRequestEntityTooLarge, message: "the body is too large"})
	case err != nil:
		s.refuse(c, &refusal{status: http.StatusBadRequest, message: "the body could not be read"})
	case len(secret) == 0 || !knows(c.Request.Header, body, secret):
		s.refuse(c, &refusal{status: http.StatusForbidden, message: "the request does not prove that it knows the secret"})
	default:
		s.Poke()
		write(c, http.StatusAccepted, textType, []byte("looking\n"))
	}
}

func knows(header http.Header, body, secret []byte) bool {
	if text, ok := strings.CutPrefix(header.Get(githubSignature), "sha256="); ok {
		signature, err := hex.DecodeString(text)
		if err != nil {
			return false
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		return hmac.Equal(signature, mac.Sum(nil))
	}
	token := sha256.Sum256([]byte(header.Get(gitlabToken)))
	want := sha256.Sum256(secret)
	return header.Get(gitlabToken) != "" && subtle.ConstantTimeCompare(token[:], want[:]) == 1
}
