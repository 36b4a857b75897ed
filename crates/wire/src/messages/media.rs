//! Images and documents in the content of this API.
//!
//! It reads no bytes: what is in a medium is for whoever shows it to a model.

use serde_json::value::RawValue;

use crate::{
    Media, MediaKind, Source,
    chat::{
        member::Path,
        view::{is_string, word},
    },
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    object::Object,
};

/// The types of images that the API takes, from its reference.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Reads a block of the type `kind`; `None` if it is no medium, or none that can be read.
pub(super) fn read(
    path: &Path<'_>,
    kind: &str,
    block: &Members<'_>,
    raw: &RawValue,
    losses: &mut Vec<Loss>,
) -> Option<Media> {
    let kind = match kind {
        "image" => MediaKind::Image,
        "document" => MediaKind::Document,
        "search_result" => return Some(search_result(path, block, raw, losses)),
        _ => return None,
    };
    let source_path = Path::Member(path, "source");
    let source = Members::of(&source_path, block.get("source")?).ok()?;
    let text = |name| word(source.get(name)).map(Into::into);
    let found = match text("type").as_deref() {
        Some("base64") => Source::Data {
            media_type: text("media_type")?,
            base64: text("data").unwrap_or_default(),
        },
        Some("url") => Source::of_url(text("url")?),
        Some("file") => Source::File(text("file_id")?),
        Some("text") => {
            source.pass(&["media_type"]);
            Source::Text(text("data").unwrap_or_default())
        }
        Some("content") => Source::Text(texts(
            &Path::Member(&source_path, "content"),
            source.get("content")?,
            losses,
        )),
        _ => return None,
    };
    let name = word(block.get("title")).map(Into::into);
    unread(&source_path, &source, &[], losses);
    Some(Media { kind, source: found, name, detail: None, raw: raw.to_owned() })
}

/// What a search has found is a document of text.
fn search_result(
    path: &Path<'_>,
    block: &Members<'_>,
    raw: &RawValue,
    losses: &mut Vec<Loss>,
) -> Media {
    let content = block.get("content");
    let text = content.map(|raw| texts(&Path::Member(path, "content"), raw, losses));
    let (title, source) = (word(block.get("title")), word(block.get("source")));
    let name = match (title, source) {
        (Some(title), Some(source)) => Some(format!("{title} ({source})")),
        (title, source) => title.or(source).map(Into::into),
    };
    Media {
        kind: MediaKind::Document,
        source: Source::Text(text.unwrap_or_default()),
        name,
        detail: None,
        raw: raw.to_owned(),
    }
}

/// The text of content inside a document.
fn texts(path: &Path<'_>, raw: &RawValue, losses: &mut Vec<Loss>) -> String {
    if is_string(raw) {
        return path.string(raw).unwrap_or_default();
    }
    let mut out = Vec::new();
    for (i, raw) in path.array(raw).unwrap_or_default().into_iter().enumerate() {
        let path = Path::Element(path, i);
        let text = Members::of(&path, raw).ok().and_then(|block| word(block.get("text")));
        match text {
            Some(text) => out.push(text.into_owned()),
            None => losses.push(lost(
                LossKind::Unsupported,
                &path,
                "what is no text inside a document cannot be carried",
            )),
        }
    }
    out.join("\n\n")
}

/// The block that stands for a medium; `None` if there is none, which is an unsupported loss. `path`
/// names it there.
pub(super) fn write(media: &Media, path: &str, losses: &mut Vec<Loss>) -> Option<String> {
    let mut refuse = |reason: &str| {
        let (path, reason) = (path.to_owned(), reason.to_owned());
        losses.push(Loss { kind: LossKind::Unsupported, path, reason });
        None
    };
    let mut source = Object::default();
    match (media.kind, &media.source) {
        (MediaKind::Audio, _) => return refuse("the Messages API takes no sound"),
        (_, Source::File(_)) => {
            return refuse("a file is kept by the provider that it was sent to");
        }
        (MediaKind::Image, Source::Data { media_type, base64 }) => {
            let media_type = if media_type == "image/jpg" { IMAGES[0] } else { media_type };
            if !IMAGES.contains(&media_type) {
                return refuse("the Messages API takes images as JPEG, PNG, GIF and WebP only");
            }
            source.text("type", "base64").text("media_type", media_type).text("data", base64);
        }
        (MediaKind::Document, Source::Data { media_type, base64 }) => {
            if media_type != "application/pdf" {
                return refuse("the Messages API takes documents as PDF and plain text only");
            }
            source.text("type", "base64").text("media_type", media_type).text("data", base64);
        }
        (_, Source::Url(url)) => {
            if !url.starts_with("https://") && !url.starts_with("http://") {
                return refuse("the Messages API takes media at http and https addresses only");
            }
            source.text("type", "url").text("url", url);
        }
        (_, Source::Text(text)) => {
            source.text("type", "text").text("media_type", "text/plain").text("data", text);
        }
    }
    let mut block = Object::default();
    let is_image = media.kind == MediaKind::Image;
    block.text("type", if is_image { "image" } else { "document" }).raw("source", &source.json());
    if let (false, Some(name)) = (is_image, &media.name) {
        block.text("title", name);
    }
    if media.detail.is_some() {
        losses.push(Loss {
            kind: LossKind::Dropped,
            path: path.to_owned(),
            reason: "the Messages API is not told how closely to look".to_owned(),
        });
    }
    Some(block.json())
}

/// Whether a block is a text, and nothing but that.
pub(super) fn is_text(block: &str) -> bool {
    block.starts_with(r#"{"type":"text","text":""#)
}
