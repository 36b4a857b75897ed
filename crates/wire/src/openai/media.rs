//! Images, documents and sounds in the content of both APIs.
//!
//! The two differ in the names of parts and in what they take: Chat has no documents behind a URL. A
//! part that cannot be read is nobody's medium; its own API may know better.

use serde_json::value::RawValue;

use super::Object;
use crate::{
    Api, Media, MediaKind, Source,
    chat::{
        member::Path,
        view::{Any, is_string, word},
    },
    foreign::unread,
    loss::{Loss, LossKind},
    members::Members,
};

/// Reads a part of the type `kind`; `None` if it is no medium, or none that can be read.
pub(crate) fn read(
    path: &Path<'_>,
    kind: &str,
    part: &Members<'_>,
    raw: &RawValue,
    losses: &mut Vec<Loss>,
) -> Option<Media> {
    // In Chat a part's content is in a member that is called as its type.
    let inner_path = Path::Member(path, kind);
    let inner = match kind {
        "image_url" | "file" | "input_audio" => match part.get(kind)? {
            // Some clients leave the object out around a URL.
            raw if is_string(raw) && kind == "image_url" => {
                Some(Members::from(Any { members: vec![("url".into(), raw)] }))
            }
            raw => Some(Members::of(&inner_path, raw).ok()?),
        },
        "input_image" | "input_file" => None,
        _ => return None,
    };
    let object = inner.as_ref().unwrap_or(part);
    let text = |name| word(object.get(name)).map(Into::into);
    let (kind, source, name) = match kind {
        "image_url" => (MediaKind::Image, Source::of_url(text("url")?), None),
        "input_image" => {
            // The second of two sources stays unread, and so is a loss.
            let url = text("image_url").map(Source::of_url);
            let source = url.or_else(|| text("file_id").map(Source::File))?;
            (MediaKind::Image, source, None)
        }
        "input_audio" => {
            let media_type = match text("format")?.as_str() {
                "mp3" => "audio/mpeg".to_owned(),
                format => format!("audio/{format}"),
            };
            (MediaKind::Audio, Source::Data { media_type, base64: text("data")? }, None)
        }
        _ => {
            let name: Option<String> = text("filename");
            let data = text("file_data").map(|data| file_data(data, name.as_deref()));
            let source = data
                .or_else(|| text("file_url").map(Source::of_url))
                .or_else(|| text("file_id").map(Source::File))?;
            (MediaKind::Document, source, name)
        }
    };
    let detail = text("detail");
    if let Some(inner) = &inner {
        unread(&inner_path, inner, &[], losses);
    }
    Some(Media { kind, source, name, detail, raw: raw.to_owned() })
}

/// The data of a file: a data URL, or base64 alone.
fn file_data(data: String, name: Option<&str>) -> Source {
    match Source::of_url(data) {
        Source::Url(base64) => {
            let is_pdf = name.is_none_or(|name| name.to_ascii_lowercase().ends_with(".pdf"));
            let media_type = if is_pdf { "application/pdf" } else { "application/octet-stream" };
            Source::Data { media_type: media_type.to_owned(), base64 }
        }
        data => data,
    }
}

/// The part that stands for a medium in one of the two APIs; `None` if there is none, which is an
/// unsupported loss. `path` names it there.
pub(crate) fn write(api: Api, media: &Media, path: &str, losses: &mut Vec<Loss>) -> Option<String> {
    let mut lose = |kind, reason: &str| {
        losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
    };
    let is_chat = api == Api::Chat;
    let mut part = Object::default();
    let detail = |object: &mut Object| {
        if let Some(detail) = &media.detail {
            object.text("detail", detail);
        }
    };
    match (media.kind, &media.source) {
        (_, Source::File(_)) => {
            lose(LossKind::Unsupported, "a file is kept by the provider that it was sent to");
            return None;
        }
        (_, Source::Text(text)) => {
            lose(LossKind::Lossy, "a document of plain text is sent as text");
            let kind = if is_chat { "text" } else { "input_text" };
            let named = media.name.as_ref().map(|name| format!("{name}:\n{text}"));
            part.text("type", kind).text("text", named.as_ref().unwrap_or(text));
        }
        (MediaKind::Image, source) => {
            let url = source.url()?;
            if is_chat {
                let mut image = Object::default();
                detail(image.text("url", &url));
                part.text("type", "image_url").raw("image_url", &image.json());
            } else {
                detail(part.text("type", "input_image").text("image_url", &url));
            }
        }
        (MediaKind::Audio, Source::Data { media_type, base64 }) => {
            let format = match media_type.as_str() {
                "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "wav",
                "audio/mpeg" | "audio/mp3" => "mp3",
                _ => {
                    lose(LossKind::Unsupported, "OpenAI's APIs take sounds as wav and mp3 only");
                    return None;
                }
            };
            let mut audio = Object::default();
            audio.text("data", base64).text("format", format);
            part.text("type", "input_audio").raw("input_audio", &audio.json());
        }
        (MediaKind::Audio, Source::Url(_)) => {
            lose(LossKind::Unsupported, "OpenAI's APIs take no sound behind a URL");
            return None;
        }
        (MediaKind::Document, Source::Data { media_type, .. }) => {
            let plain = if media_type == "application/pdf" { "document.pdf" } else { "document" };
            let name = media.name.as_deref().unwrap_or(plain);
            let data = media.source.url()?;
            let mut file = Object::default();
            if is_chat {
                file.text("filename", name).text("file_data", &data);
                part.text("type", "file").raw("file", &file.json());
            } else {
                part.text("type", "input_file").text("filename", name).text("file_data", &data);
                detail(&mut part);
            }
            if is_chat && media.detail.is_some() {
                lose(LossKind::Lossy, "a document is sent without how closely to look at it");
            }
        }
        (MediaKind::Document, Source::Url(_)) if is_chat => {
            lose(LossKind::Unsupported, "the Chat API takes no document behind a URL");
            return None;
        }
        (MediaKind::Document, Source::Url(url)) => {
            detail(part.text("type", "input_file").text("file_url", url));
            if media.name.is_some() {
                lose(LossKind::Lossy, "a document behind a URL is sent without its name");
            }
        }
    }
    Some(part.json())
}
